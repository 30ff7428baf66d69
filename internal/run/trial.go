package run

import (
	"context"
	"fmt"

	"triad/internal/backend"
	"triad/internal/stats"
)

// Trial times arms as Bench times the implementations of a case, in the plan's first regime, and says what Bench would say: how a second arm of
// the same call compares with the first, and how another one does beside that noise. Without another its comparison is the zero value.
func (r *Runner) Trial(ctx context.Context, base, twin, other backend.Arm, plan TimingPlan) (same, different stats.Comparison, err error) {
	x := &execution{Runner: r, request: Request{Timing: &plan}, result: &Result{}}
	h := &heat{execution: x, regime: plan.Regimes[0], plan: plan}
	for _, arm := range []backend.Arm{base, twin, other} {
		if arm != nil {
			h.contenders = append(h.contenders, &contender{arm: arm})
		}
	}
	if err := h.run(ctx); err != nil {
		return same, different, err
	}
	for i, k := range h.contenders {
		if k.arm == nil {
			return same, different, fmt.Errorf("time arm %d of a trial: %v, %s", i, k.failed, k.sentence)
		}
	}
	same = stats.Compare(h.contenders[1].byRound(h.done), h.contenders[0].byRound(h.done), 0)
	if other != nil {
		different = stats.Compare(h.contenders[2].byRound(h.done), h.contenders[0].byRound(h.done), same.Noise())
	}
	return same, different, nil
}
