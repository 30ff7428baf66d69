package run

import (
	"context"
	"slices"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
)

// markTurned chooses the case of each operator and dtype whose forward is called again with its first input's
// inner elements reversed: the smallest of ordinary data that has some.
func markTurned(planned []work) error {
	smallest, size := map[string]int{}, map[string]int64{}
	for i, w := range planned {
		if w.Pass != op.Forward || w.Distribution != "normal" || w.Layout != "contiguous" {
			continue
		}
		inputs, err := w.operator.Spec.Inputs(w.Case)
		if err != nil {
			return err
		}
		elements, _, err := w.operator.Spec.Footprint(w.Case)
		if err != nil {
			return err
		}
		if len(inputs) == 0 || !inputs[0].DType.IsFloat() || inputs[0].Fill == op.Drawn ||
			inputs[0].Elements() < 8 || elements > moderateElements {
			continue
		}
		key := w.Op + " " + w.DType
		if _, seen := smallest[key]; !seen || elements < size[key] {
			smallest[key], size[key] = i, elements
		}
	}
	for _, i := range smallest {
		planned[i].turned = true
	}
	return nil
}

// afterTurning calls an implementation again with the elements of its first input in reverse order, except
// for the first and the last, and judges the result: one that keeps its last answer and recognises the input
// by its ends, its sum or its size repeats that answer. It sets found to the findings that explain a failure.
func (x *execution) afterTurning(ctx context.Context, c *prepared, e entry, r *record.Record,
	found *[]op.Finding,
) error {
	if !c.turned || e.implementation.Limit != "" || r.Status.Weight() == op.Bad || len(r.Outputs) == 0 {
		return nil
	}
	turned := &prepared{
		work: c.work, given: slices.Clone(c.given), outputs: c.outputs, level: c.level, stop: c.stop,
		truths: map[string]truthOnce{},
	}
	turned.given[0] = turnedInside(c.given[0])
	job, err := x.job(ctx, turned, e)
	if err != nil {
		return err
	}
	job.Launches = job.Launches[:2]
	outcome, err := x.further(ctx, c, e, job)
	if err != nil {
		return err
	}
	outcome.ChangedItsMind()
	again := newRecord(turned, e, r.Seed, r.Started)
	explained := x.ruleOnLaunches(turned, e, outcome, &again, len(job.Launches))
	if again.Status.Weight() != op.Bad && outcome.Status == op.StatusUnknown {
		return nil
	}
	*found = explained
	endsAs(r, again, "so it is where "+c.given[0].Name+" has its inner elements in reverse, after this call")
	return nil
}

// turnedInside returns a contiguous tensor with its elements in reverse order, except for the first and the
// last.
func turnedInside(t tensor.Tensor) tensor.Tensor {
	size := int(t.DType.Size())
	data := slices.Clone(t.Data)
	last := len(data)/size - 1
	for i := 1; i < last; i++ {
		copy(data[i*size:(i+1)*size], t.Data[(last-i)*size:])
	}
	t.Data = data
	return t
}
