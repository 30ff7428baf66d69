package run

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// stoppedBefore is the outcome of a job that could not be made because the implementation's own forward
// failed.
type stoppedBefore struct{ outcome backend.Outcome }

func (s *stoppedBefore) Error() string { return s.outcome.Sentence }

// job returns the backend's job for an entry. A chained backward first runs its own forward.
func (x *execution) job(ctx context.Context, c *prepared, e entry) (backend.Job, error) {
	job := backend.Job{
		Implementation: e.implementation, DType: c.DType, Contract: e.implementation.Contract,
		Attrs:   attrRefs(c),
		Outputs: c.outputs, Launches: c.launches(e.implementation.Device, c.level), SizesAlone: c.sizesAlone,
	}
	if c.Pass == op.Backward && e.implementation.Draws != "" {
		if _, err := c.savedOnce(e.implementation.Name,
			func() ([]tensor.Tensor, error) { return x.ownChoice(ctx, c, e) }); err != nil {
			return job, err
		}
	}
	if c.Pass == op.Forward || e.implementation.Recomputes {
		job.Inputs = c.given
		return job, nil
	}
	saved := c.saved
	if c.Saved == "own" {
		var err error
		if saved, err = c.savedOnce(e.implementation.Name,
			func() ([]tensor.Tensor, error) { return x.ownSaved(ctx, c, e) }); err != nil {
			return job, err
		}
	}
	var err error
	job.Inputs, err = assemble(c.operator.Spec.Backward.Inputs, c.given, saved)
	if err != nil {
		return job, fmt.Errorf("inputs of %s: %w", describe(c.Case), err)
	}
	return job, nil
}

// ownForward runs the forward of a backward a number of times.
func (x *execution) ownForward(ctx context.Context, c *prepared, e entry, times int,
	inputs func([]op.TensorType) ([]tensor.Tensor, error),
) ([]backend.LaunchOutcome, error) {
	outputs, err := c.operator.Spec.ForwardOutputs(c.Case)
	if err != nil {
		return nil, err
	}
	types, err := c.operator.Spec.ForwardInputs(c.Case)
	if err != nil {
		return nil, err
	}
	in, err := inputs(types)
	if err != nil {
		return nil, err
	}
	i := e.implementation
	i.Pass, i.Name = op.Forward, forwardOf(i)
	outcome, err := x.attempt(ctx, e, backend.Job{
		Implementation: i, DType: c.DType, Contract: i.Contract, Attrs: attrRefs(c), Inputs: in,
		Outputs: outputs, Launches: launches(i.Device, op.LevelDefault)[:times],
	})
	if err != nil {
		return nil, err
	}
	if outcome.Status != op.StatusUnknown {
		outcome.Sentence = "its forward " + i.Name + ": " + outcome.Sentence
		return nil, &stoppedBefore{outcome}
	}
	return outcome.Launches, nil
}

// ownChoice returns the output on ones of a forward that draws its own random numbers: which elements it
// keeps. A choice that changes from call to call says nothing of another call's gradient.
func (x *execution) ownChoice(ctx context.Context, c *prepared, e entry) ([]tensor.Tensor, error) {
	launches, err := x.ownForward(ctx, c, e, 2, func(types []op.TensorType) ([]tensor.Tensor, error) {
		var in []tensor.Tensor
		for _, t := range types {
			one := tensor.New(t.Name, t.DType, t.Shape)
			one.SetFloat64s(slices.Repeat([]float64{1}, int(t.Elements())))
			in = append(in, one)
		}
		return in, nil
	})
	if err != nil {
		return nil, err
	}
	var given []tensor.Tensor
	for i, o := range launches[0].Outputs {
		if !o.Present {
			continue
		}
		if !tensor.Equal(o.Tensor.Data, launches[1].Outputs[i].Tensor.Data) {
			return nil, &stoppedBefore{backend.Outcome{
				Status: op.StatusUnsupported,
				Sentence: "two calls of its forward with the same seed differ, and its gradient is one of " +
					"neither: " + e.implementation.Draws,
			}}
		}
		given = append(given, o.Tensor)
	}
	return given, nil
}

// ownSaved runs the forward that a backward is chained to and returns what it saved.
func (x *execution) ownSaved(ctx context.Context, c *prepared, e entry) ([]tensor.Tensor, error) {
	launches, err := x.ownForward(ctx, c, e, 1, func(types []op.TensorType) ([]tensor.Tensor, error) {
		names := make([]string, len(types))
		for i, t := range types {
			names[i] = t.Name
		}
		return assemble(names, c.given)
	})
	if err != nil {
		return nil, err
	}
	outputs, err := c.operator.Spec.ForwardOutputs(c.Case)
	if err != nil {
		return nil, err
	}
	i := e.implementation
	i.Name = forwardOf(i)
	var saved []tensor.Tensor
	for k, o := range launches[0].Outputs {
		if o.Present && returned(o).Data == nil && slices.Contains(c.operator.Spec.Backward.Inputs, o.Name) {
			return nil, &stoppedBefore{backend.Outcome{
				Status: op.StatusFail,
				Sentence: fmt.Sprintf("its forward %s gives %s as %s %v, want %v %v", i.Name, o.Name,
					cmp.Or(o.Type, o.DType), o.Shape, outputs[k].DType, outputs[k].Shape),
			}}
		}
		if o.Present {
			saved = append(saved, o.Tensor)
		} else if slices.Contains(c.operator.Spec.Backward.Inputs, o.Name) {
			return nil, &stoppedBefore{backend.Outcome{
				Status:   op.StatusMissing,
				Sentence: fmt.Sprintf("its forward %s does not give %s", i.Name, o.Name),
			}}
		}
	}
	return saved, nil
}
