package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/stats"
	"triad/internal/tensor"
	"triad/internal/timing"
)

// measureCeilings creates the timer of a run, and measures the device's peaks for what is planned.
func (x *execution) measureCeilings(ctx context.Context, wanted []backend.Backend, planned []work) (
	err error,
) {
	x.progress(Progress{Text: "measuring what the GPU can do at best"})
	x.timer = &timing.Timer{
		Plan: *x.request.Timing, Recorder: x.Timings, Telemetry: x.Telemetry,
		Rest: x.Rest, Spent: x.result.spend,
	}
	others := slices.DeleteFunc(slices.Clone(x.Backends), func(b backend.Backend) bool {
		return slices.Contains(wanted, b)
	})
	var dtypes []string
	for _, w := range planned {
		dtypes = append(dtypes, w.productDType())
	}
	x.result.Ceilings, err = x.timer.MeasureCeilings(ctx, wanted, others, dtypes)
	return err
}

// timingKept rejects a plan of timing without a recorder of its results.
func (r *Runner) timingKept(request Request) error {
	if request.Timing != nil && r.Timings == nil {
		return errors.New("the request has a plan of timing, and the runner has no recorder of timings: " +
			"set Runner.Timings, or leave Request.Timing nil")
	}
	return nil
}

// time times what passed on a case; records are those of the case.
func (x *execution) time(ctx context.Context, c *prepared, records []*record.Record) (err error) {
	defer panics.Caught(&err, func() string { return "timing what passed on " + describe(c.Case) })
	w, err := workOf(c)
	if err != nil {
		return err
	}
	comparisons, err := x.timer.Time(ctx, timing.Case{
		Case: c.Case, Work: w, Impls: x.toTime(c, records),
		Left: func() bool { return x.leaves(c) },
	})
	x.result.Comparisons = append(x.result.Comparisons, comparisons...)
	if errors.Is(err, timing.ErrLeft) {
		x.cutShort()
		return nil
	}
	return err
}

// timeable reports whether a record's implementation may be timed.
func timeable(r *record.Record) bool {
	return r.Device == "gpu" && (r.Status.Weight() == op.Good || r.Status == op.StatusDifferentContract)
}

// toTime returns the implementations of a case that may be timed, and how their calls are made and judged.
func (x *execution) toTime(c *prepared, records []*record.Record) []timing.Impl {
	var all []timing.Impl
	for _, r := range records {
		at := slices.IndexFunc(c.entries, func(e entry) bool {
			return e.verdict == nil && e.implementation.Name == r.Impl
		})
		if !timeable(r) || at < 0 {
			continue
		}
		e := c.entries[at]
		all = append(all, timing.Impl{
			Implementation: e.implementation, Backend: e.backend, Record: r,
			Job: func(ctx context.Context) (backend.Job, backend.Outcome, error) {
				job, err := x.job(ctx, c, e)
				var stopped *stoppedBefore
				if errors.As(err, &stopped) {
					return job, stopped.outcome, nil
				}
				return job, backend.Outcome{}, err
			},
			Judge: func(written backend.Outcome) (op.Status, string) {
				return c.judgeTimed(e, r.ID, written)
			},
		})
	}
	return all
}

// judgeTimed judges what the timed calls of an implementation wrote. Bits that were judged before keep their
// verdict: id is the record of it. StatusUnknown means that the outputs are accepted.
func (c *prepared) judgeTimed(e entry, id string, written backend.Outcome) (op.Status, string) {
	if c.judgedBefore(id, written) {
		return op.StatusUnknown, ""
	}
	i := e.implementation
	plan := judge.Plan{
		Outputs: c.outputs, Gives: i.Outputs, Nondeterministic: i.Nondeterministic,
		Launches: len(written.Launches),
	}
	standard := c.operator.Spec.DefaultContract(c.DType)
	verdicts := judge.UnderContracts(plan, c.answer(e, written), c.truth, standard, i.Contract)
	status := judge.Row(verdicts)
	if status.Weight() != op.Bad {
		return op.StatusUnknown, ""
	}
	text := "what the timed calls wrote is not accepted"
	worst := slices.IndexFunc(verdicts, func(v judge.Verdict) bool { return v.Status == status })
	if worst >= 0 {
		text = "what the timed calls wrote: " + verdicts[worst].Sentence
	}
	return status, text
}

// partsOf counts the groups that have elements: data of the others, such as their weights, need not be read.
// It returns -1 if the spec names no tensor from which to count.
func partsOf(c *prepared) (int64, error) {
	name := c.operator.Spec.Costs.Parts
	if name == "" {
		return -1, nil
	}
	named := func(x tensor.Tensor) bool { return x.Name == name }
	if at := slices.IndexFunc(c.given, named); at >= 0 {
		offsets, parts := c.given[at].Float64s(), int64(0)
		for i := 1; i < len(offsets); i++ {
			if offsets[i] > offsets[i-1] {
				parts++
			}
		}
		return parts, nil
	}
	saved := c.saved
	if saved == nil {
		var err error
		if saved, err = c.operator.Saved(c.Case, c.given); err != nil {
			return 0, err
		}
	}
	at := slices.IndexFunc(saved, named)
	if at < 0 {
		return 0, fmt.Errorf("cost of %s: its forward saves no %s", c.operator.Spec.Name, name)
	}
	chosen := map[float64]bool{}
	for _, group := range saved[at].Float64s() {
		chosen[group] = true
	}
	return int64(len(chosen)), nil
}

// productDType returns the dtype in which a case multiplies matrices.
func (w work) productDType() string { return cmp.Or(w.operator.Spec.Costs.Products, w.DType) }

// workOf returns what a case must move and compute.
func workOf(c *prepared) (stats.Work, error) {
	var w stats.Work
	spec := c.operator.Spec
	parts, err := partsOf(c)
	if err != nil {
		return w, err
	}
	if w.Bytes, w.FLOPs, err = spec.CostOfParts(c.Case, parts); err != nil {
		return w, err
	}
	inputs, err := c.operator.Spec.Inputs(c.Case)
	if err != nil {
		return w, err
	}
	for _, t := range inputs {
		w.BytesRead += t.Elements() * t.DType.Size()
	}
	for _, t := range c.outputs {
		w.BytesWritten += t.Elements() * t.DType.Size()
	}
	w.Product = timing.Product(c.productDType())
	if c.Pass == op.Backward {
		upstream, err := c.operator.Spec.Upstream(c.Case)
		if err != nil {
			return w, err
		}
		w.Unavoidable = w.BytesWritten
		for _, t := range upstream {
			w.Unavoidable += t.Elements() * t.DType.Size()
		}
	}
	return w, nil
}
