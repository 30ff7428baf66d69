package run

import (
	"context"
	"slices"

	"triad/internal/op"
	"triad/internal/record"
)

// callAltered calls an implementation of a marked case again with the altered input, and judges the result.
// It sets found to the findings that explain a failure.
func (x *execution) callAltered(ctx context.Context, c *prepared, e entry, r *record.Record,
	found *[]op.Finding,
) error {
	if c.altered == nil || e.implementation.Limit != "" || r.Status.Weight() == op.Bad ||
		len(r.Outputs) == 0 {
		return nil
	}
	altered := &prepared{
		work: c.work, given: slices.Clone(c.given), outputs: c.outputs, level: c.level, stop: c.stop,
		truths: map[string]truthOnce{},
	}
	altered.given[0] = c.altered.of(c.given[0], r.Seed)
	job, err := x.job(ctx, altered, e)
	if err != nil {
		return err
	}
	job.Launches = job.Launches[:2]
	outcome, err := x.further(ctx, c, e, job)
	if err != nil {
		return err
	}
	outcome.ChangedItsMind()
	again := newRecord(altered, e, r.Seed, r.Started)
	explained := x.rules().ruleOnLaunches(altered, e, outcome, &again, len(job.Launches))
	if again.Status.Weight() != op.Bad && outcome.Status == op.StatusUnknown {
		return nil
	}
	*found = explained
	endsAs(r, again, "so it is where "+c.given[0].Name+" "+c.altered.words+", after this call")
	return nil
}
