package run

import (
	"context"
	"slices"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
)

// launchesPerJob limits how long a worker is silent: longer jobs are run in parts.
const launchesPerJob = 10

// oneByOne is the order of a launch that computes each gradient in a backward of its own, in which only its
// input requires a gradient.
const oneByOne = "one by one"

// checkSteps compares the truth of every operator's backward with the complex step, on the inputs that the
// run is about to judge with.
func (r *Runner) checkSteps(ctx context.Context, planned []work, seed uint64) ([]Step, error) {
	var steps []Step
	for _, w := range planned {
		if !w.moderate || slices.ContainsFunc(steps, func(s Step) bool { return s.Case.Op == w.Op }) ||
			ctx.Err() != nil {
			continue
		}
		r.progress(Progress{Text: "comparing the gradients of " + w.Op + " with the complex step"})
		in, err := w.operator.Inputs(w.Case, seed)
		if err != nil {
			return nil, err
		}
		s, err := w.operator.Prove(w.Case, in, seed)
		if err != nil {
			return nil, err
		}
		steps = append(steps, Step{w.Case, s})
	}
	return steps, nil
}

// oneByOne runs a row that goes through autograd once more, with one input at a time requiring its gradient,
// and records what is then wrong: a function that checks which gradients are needed must give the same ones.
// It sets found to the findings that explain the fault. A row that declined the call, or was not judged for
// another reason, is skipped.
func (x *execution) oneByOne(ctx context.Context, c *prepared, e entry, r *record.Record,
	found *[]op.Finding,
) error {
	if !c.moderate || !e.implementation.Recomputes || e.implementation.Limit != "" ||
		r.Status.Weight() == op.Bad || len(r.Outputs) == 0 || len(c.outputs) < 2 {
		return nil
	}
	job, err := x.job(ctx, c, e)
	if err != nil {
		return err
	}
	job.Launches = []backend.LaunchPlan{{Poison: "a", Order: oneByOne}, {Poison: "b", Order: oneByOne}}
	outcome, err := x.attempt(ctx, e, job)
	if err != nil {
		return err
	}
	outcome.ChangedItsMind()
	alone := newRecord(c, e, r.Seed, r.Started)
	explained := x.rules().ruleOnLaunches(c, e, outcome, &alone, len(job.Launches))
	if alone.Status.Weight() == op.Bad || outcome.Status != op.StatusUnknown {
		// what was not launched is no pass
		*found = explained
		r.Status, r.Outputs, r.Where, r.LogTail = alone.Status, alone.Outputs, alone.Where, alone.LogTail
		r.Explained = alone.Explained
		r.Message = "where each input alone requires its gradient: " + alone.Message
	}
	return nil
}
