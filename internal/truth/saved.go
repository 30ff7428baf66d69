package truth

import (
	"fmt"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// Saved makes the tensors that a driver passes to a backward of an operator of the catalog; see the method.
func Saved(spec *op.Spec, c op.Case, in []tensor.Tensor) ([]tensor.Tensor, error) {
	return (&Operator{Spec: spec}).Saved(c, in)
}

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

// BackwardInputs puts the inputs of a kernel's backward into the order of the spec: have holds, in any order,
// the operator's inputs, saved tensors and upstream gradients.
func BackwardInputs(spec *op.Spec, have []tensor.Tensor) ([]tensor.Tensor, error) {
	if spec.Backward == nil {
		return nil, fmt.Errorf("order the backward inputs of %s: it has no backward", spec.Name)
	}
	var out []tensor.Tensor
	for _, name := range spec.Backward.Inputs {
		i := slices.IndexFunc(have, func(t tensor.Tensor) bool { return t.Name == name })
		if i < 0 {
			return nil, fmt.Errorf("order the backward inputs of %s: %s is missing", spec.Name, name)
		}
		out = append(out, have[i])
	}
	return out, nil
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
