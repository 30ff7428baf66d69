package timing

import (
	"context"
	"fmt"

	"triad/internal/backend"
	"triad/internal/stats"
)

// Trial times candidates as Time times the implementations of a case, in the plan's first regime, and returns
// the comparisons that Time would make: of a second candidate of the same call with the first, and of another
// candidate with the first, given that noise. If other is nil, different is the zero value.
func (t *Timer) Trial(ctx context.Context, base, twin, other backend.Candidate) (
	same, different stats.Comparison, err error,
) {
	c := &timedCase{Timer: t, regime: t.Plan.Regimes[0]}
	for _, candidate := range []backend.Candidate{base, twin, other} {
		if candidate != nil {
			c.impls = append(c.impls, &timedImpl{candidate: candidate})
		}
	}
	if err := c.run(ctx); err != nil {
		return same, different, err
	}
	for i, k := range c.impls {
		if k.candidate == nil {
			return same, different, fmt.Errorf("time candidate %d of a trial: %v, %s", i, k.failed,
				k.sentence)
		}
	}
	same = stats.Compare(c.impls[1].byRound(c.rounds), c.impls[0].byRound(c.rounds), 0)
	if other != nil {
		different = stats.Compare(c.impls[2].byRound(c.rounds), c.impls[0].byRound(c.rounds), same.Noise())
	}
	return same, different, nil
}
