package truth

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// A Reference computes the truth of an operator outside the catalog: a user's own function in fp64, with
// error bounds composed of those of its operations.
type Reference interface {
	// Compute returns every output of a case under one of ComposedContracts, in the order of the spec. The
	// inputs are those of TruthOf.
	Compute(c op.Case, contract string, in []tensor.Tensor) ([]Computed, error)
	// Prove compares the gradients of a case with differences of the forward.
	Prove(c op.Case, in []tensor.Tensor, seed uint64) (Step, error)
}

// A Drawer is a Reference whose problem draws inputs itself: those with the fill "drawn".
type Drawer interface {
	// Draw returns these inputs of a case by name.
	Draw(c op.Case, seed uint64) (map[string]tensor.Tensor, error)
}

// Computed is one output of a reference, row-major. Simulated is the value under the contract's rounding
// points, before the output's own.
type Computed struct{ R, T, Simulated []float64 }

// ComposedContracts are the contracts that a user's own operator may name. Under exact the error bound must
// come out as 0: for moved elements, and for integers.
var ComposedContracts = []string{"fp32", "stored", "eager", "tf32", "exact", "fast"}

// TruthOf computes the truth of a case of the operator; see the function of that name.
func (o *Operator) TruthOf(c op.Case, contract string, in []tensor.Tensor, sample *Sample) (judge.Truth,
	error,
) {
	if o.Reference == nil {
		return Of(c, contract, in, sample)
	}
	rules, err := ContractNamed(contract)
	if err == nil && !slices.Contains(ComposedContracts, contract) {
		err = fmt.Errorf("contract %q: want one of %v", contract, ComposedContracts)
	}
	if err != nil {
		return judge.Truth{}, fmt.Errorf("compute the truth of %s: %w", c.Op, err)
	}
	outputs, err := o.Spec.Outputs(c)
	if err != nil {
		return judge.Truth{}, err
	}
	computed, err := o.Reference.Compute(c, contract, in)
	if err != nil {
		return judge.Truth{}, err
	}
	strict := computed
	if contract != "fp32" {
		if strict, err = o.Reference.Compute(c, "fp32", in); err != nil {
			return judge.Truth{}, err
		}
	}
	if err := errors.Join(complete(outputs, computed), complete(outputs, strict)); err != nil {
		return judge.Truth{}, fmt.Errorf("compute the truth of %s: %w", c.Op, err)
	}
	k := &Request{Case: c, spec: o.Spec, Rules: rules, In: in, Sample: sample}
	truth := judge.Truth{Contract: contract}
	for i, t := range outputs {
		target := k.composed(t, computed[i], strict[i])
		err := k.finish(&target)
		if undefined := (*UndefinedError)(nil); errors.As(err, &undefined) {
			return judge.Truth{}, undefined
		}
		if err != nil {
			return judge.Truth{}, &op.UsageError{Message: fmt.Sprintf("%v; the reference, the limits or "+
				"the distributions of %s are at fault", err, c.Op)}
		}
		truth.Outputs = append(truth.Outputs, target)
	}
	return truth, nil
}

// complete returns an error for an output that a reference did not give, or gave with a wrong number of
// elements.
func complete(outputs []op.TensorType, computed []Computed) error {
	if len(computed) != len(outputs) {
		return fmt.Errorf("the reference gives %d outputs: want %d", len(computed), len(outputs))
	}
	for i, t := range outputs {
		n := int(t.Elements())
		if c := computed[i]; len(c.R) != n || len(c.T) != n || len(c.Simulated) != n {
			return fmt.Errorf("the reference gives %d values, %d error bounds and %d simulated values for "+
				"%s: want %d of each", len(c.R), len(c.T), len(c.Simulated), t.Name, n)
		}
	}
	return nil
}

// composed makes the target of an output, whole or for the rows of the sample.
func (k *Request) composed(t op.TensorType, c, strict Computed) judge.Target {
	cols := int64(1)
	if n := len(t.Shape); n > 0 {
		cols = t.Shape[n-1]
	}
	var chosen []int64
	if cols > 0 && len(t.Shape) > 0 {
		chosen = k.Sample.Choose(t.Elements() / cols)
	}
	target := k.Target(t.Name, t.DType, t.Shape, chosen)
	// A user's reference does not say what the elements of a row share, such as a factor that is stored low:
	// a matrix of few rows has few errors then.
	if rank := len(t.Shape); rank > 2 {
		target.Errors = float64(t.Shape[rank-2])
	}
	if declared, ok := k.spec.Output(t.Name); ok {
		target.Uniform = isOne(declared.Shape)
	}
	at := func(i int) int64 {
		if chosen == nil {
			return int64(i)
		}
		return chosen[int64(i)/cols]*cols + int64(i)%cols
	}
	for i := range target.R {
		j := at(i)
		target.R[i], target.T[i], target.TFP32[i] = c.R[j], c.T[j], math.Min(strict.T[j], c.T[j])
		if k.Rules.Kappa > 0 { // what the adder of a tensor core cuts is no rounding that sim has
			target.TFP32[i] = c.T[j]
		}
		target.Sim[i] = tensor.Round(t.DType, c.Simulated[j], k.Rules.Saturate)
	}
	return target
}

// isOne reports whether a declared shape is that of one number, whatever the sizes are.
func isOne(shape any) bool {
	sizes, ok := shape.([]any)
	return ok && !slices.ContainsFunc(sizes, func(size any) bool { return size != "1" })
}

// Prove compares the truth of a backward case with a derivative of its forward that shares no code with it:
// the complex step, or differences of the forward for a user's own operator.
func (o *Operator) Prove(c op.Case, in []tensor.Tensor, seed uint64) (Step, error) {
	if o.Reference == nil {
		return ComplexStep(o.Spec, c, in, seed)
	}
	return o.Reference.Prove(c, in, seed)
}
