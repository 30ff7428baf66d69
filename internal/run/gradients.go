package run

import (
	"context"
	"fmt"
	"slices"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// In addition to judging every case, a gradcheck launches one moderate case of each operator and dtype this
// often, so that a sum whose order varies shows, and makes rows that go through autograd compute each
// gradient alone.
const (
	gradientLaunches     = 5
	gradientLaunchesFull = 250
)

// moderateElements is the largest number of elements of all tensors of a moderate case together.
const moderateElements = 1 << 15

// launchesPerJob limits how long a worker is silent: longer jobs are run in parts.
const launchesPerJob = 10

// oneByOne is the order of a launch that computes each gradient in a backward of its own, in which only its
// input requires a gradient.
const oneByOne = "one by one"

// Step is the agreement of the truth of an operator's backward with the complex step of its forward, on one
// of the run's cases.
type Step struct {
	Case op.Case
	truth.Step
}

// markModerate chooses the moderate case of each operator and dtype: ordinary data, chained if that costs
// little size, and the largest that still counts as moderate.
func markModerate(planned []work) error {
	best := map[string]int{}
	size := map[string]int64{}
	for i, w := range planned {
		if w.Pass != op.Backward || w.Distribution != "normal" || w.Layout != "contiguous" ||
			w.Upstream != "normal" {
			continue
		}
		elements, _, err := w.operator.Spec.Footprint(w.Case)
		if err != nil {
			return err
		}
		key := w.Op + " " + w.DType
		at, seen := best[key]
		if !seen || moderate(elements, w.Case) > moderate(size[key], planned[at].Case) {
			best[key], size[key] = i, elements
		}
	}
	for _, i := range best {
		planned[i].moderate = true
	}
	return nil
}

// moderate ranks a case. A larger one within the bound is better, and so is a chained one, since rows that
// recompute take part in no other; beyond the bound a smaller one is better.
func moderate(elements int64, c op.Case) int64 {
	switch {
	case elements > moderateElements:
		return -elements
	case c.Saved == "driver":
		return elements / 4
	default:
		return elements
	}
}

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

// launches returns the launches of one job of a case: those of every run, on a moderate case the additional
// ones of a gradcheck, and one into ordinary numbers if the case has it.
func (w work) launches(device string, level op.Level) []backend.LaunchPlan {
	plan := launches(device, level)
	for n := len(plan); n < w.fewestLaunches(level); n++ {
		next := backend.LaunchPlan{Poison: [2]string{"a", "b"}[n%2]}
		if device == "emulator" {
			next.Order = fmt.Sprintf("%s:%d", [2]string{"random", "greedy"}[n%2], n+1)
		}
		plan = append(plan, next)
	}
	if w.ordinary { // in the first order, so that a difference from it depends only on the memory
		plan = append(plan, backend.LaunchPlan{Poison: tensor.Ordinary, Order: plan[0].Order})
	}
	return plan
}

// fewestLaunches returns the least number of launches of a gradcheck on a case; 0 where it asks for none.
func (w work) fewestLaunches(level op.Level) int {
	switch {
	case !w.moderate:
		return 0
	case level == op.LevelFull:
		return gradientLaunchesFull
	default:
		return gradientLaunches
	}
}

// oneByOne runs a row that goes through autograd once more, with one input at a time requiring its gradient,
// and records what is then wrong: a function that looks at which gradients are needed must give the same
// ones. It sets found to the findings that explain that. A row that declined the call, or was not judged for
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
	explained := x.ruleOnLaunches(c, e, outcome, &alone, len(job.Launches))
	if alone.Status.Weight() == op.Bad || outcome.Status != op.StatusUnknown {
		// what was not launched is no pass
		*found = explained
		r.Status, r.Outputs, r.Where, r.LogTail = alone.Status, alone.Outputs, alone.Where, alone.LogTail
		r.Explained = alone.Explained
		r.Message = "where each input alone requires its gradient: " + alone.Message
	}
	return nil
}
