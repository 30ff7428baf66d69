package truth

import (
	"fmt"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// Saved makes the tensors that a driver hands to a backward in place of an implementation's own forward: the
// forward's outputs among the spec's [backward] inputs, as the simulated default contract computes them, in
// the dtype they are saved in. in holds the operator's inputs.
func (o *Operator) Saved(c op.Case, in []tensor.Tensor) ([]tensor.Tensor, error) {
	spec := o.Spec
	if spec.Backward == nil {
		return nil, fmt.Errorf("make the saved tensors of %s: it has no backward", spec.Name)
	}
	wanted := func(name string) bool {
		_, ok := spec.Output(name)
		return ok && slices.Contains(spec.Backward.Inputs, name)
	}
	if !slices.ContainsFunc(spec.Backward.Inputs, wanted) {
		return nil, nil
	}
	c.Pass, c.Upstream, c.Saved = op.Forward, "", ""
	compute := func() (judge.Truth, error) {
		return of(Request{Case: c, In: in, SimOnly: true}, spec.DefaultContract(c.DType))
	}
	if o.Reference != nil {
		compute = func() (judge.Truth, error) { return o.TruthOf(c, spec.DefaultContract(c.DType), in, nil) }
	}
	forward, err := compute()
	if err != nil {
		return nil, fmt.Errorf("make the saved tensors of %s: %w", spec.Name, err)
	}
	var saved []tensor.Tensor
	for _, target := range forward.Outputs {
		if !wanted(target.Name) {
			continue
		}
		t := tensor.New(target.Name, target.DType, target.Shape)
		t.SetFloat64s(target.Sim)
		saved = append(saved, t)
	}
	return saved, nil
}

// withSaved returns the tensors that a relation changes. In a backward with tensors saved by the driver it
// also returns those that a forward of the changed inputs saves: those of the first call belong to other
// inputs.
func withSaved(c op.Case, first Inputs, changed []tensor.Tensor) ([]tensor.Tensor, error) {
	if c.Saved != "driver" {
		return changed, nil
	}
	o, err := Get(c.Op)
	if err != nil {
		return nil, err
	}
	saved, err := o.Saved(c, first.With(changed))
	return append(changed, saved...), err
}
