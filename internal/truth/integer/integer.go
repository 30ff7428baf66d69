// Package integer is the family of operators whose every output element is an exact formula of the integers
// at the same place; of an input of fewer dims, those at the leading indices. An operator states the formula
// once; the truth (exact: bits are compared) and relations follow. Package integertest derives mutants and
// right variants.
package integer

import (
	"fmt"

	"triad/internal/catalog"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
)

// Contract is the only one: integers are right or wrong.
const Contract = "exact"

// Formula returns an element of the output from its index and the elements of the inputs there, in the order
// of the spec. The result is within the range of the output's dtype, or an argument of Stored.
type Formula func(c op.Case, at, in []int64) int64

// Operator describes an operator of this family.
type Operator struct {
	Output string
	// Forms are formulas with the same values, such as right kernels use. The first is the truth.
	Forms  []Formula
	ByRows []string // the dims along which rows lie: see truth.Definition
	// Stored returns what the output keeps of a result of the formula; nil where it keeps the integer.
	Stored func(result int64) float64
	// Again: an operator of one input, applied to its own output, returns its input.
	Again bool
}

// operators are the registered operators, by name.
var operators = map[string]Operator{}

// Register registers an operator's truth and its relations: var _ = Register("rgb_invert", Operator{...}).
func Register(name string, o Operator) struct{} {
	operators[name] = o
	truth.Register(name, truth.Definition{
		Forward: o.compute, Permits: []string{Contract}, ByRows: o.ByRows, Whole: true,
	})
	truth.Relate(name, o.relations()...)
	return struct{}{}
}

// Get returns a registered operator.
func Get(name string) (Operator, bool) {
	o, ok := operators[name]
	return o, ok
}

// Keeps returns what the output keeps of a result of a formula.
func (o Operator) Keeps(result int64) float64 {
	if o.Stored == nil {
		return float64(result)
	}
	return o.Stored(result)
}

// compute returns the truth of the output.
func (o Operator) compute(k *truth.Request) ([]judge.Target, error) {
	inputs, out, err := tensors(k.Case)
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		if rank := len(in.Shape); rank > len(out.Shape) {
			return nil, fmt.Errorf("%s has %d dims: want %d or fewer", in.Name, rank, len(out.Shape))
		}
		if err := k.Shaped(in.Name, out.Shape[:len(in.Shape)]...); err != nil {
			return nil, err
		}
	}
	return []judge.Target{k.Exact(out, func() func(at []int64) float64 {
		read := make([]func(at []int64) float64, len(inputs))
		for i, in := range inputs {
			t, _ := k.Tensor(in.Name) // Shaped has found it
			read[i] = truth.ElementReader(t)
		}
		values := make([]int64, len(inputs))
		return func(at []int64) float64 {
			for i := range read {
				values[i] = int64(read[i](at[:len(inputs[i].Shape)]))
			}
			return o.Keeps(o.Forms[0](k.Case, at, values))
		}
	})}, nil
}

// tensors returns the inputs and the output of a case.
func tensors(c op.Case) (in []op.TensorType, out op.TensorType, err error) {
	o, err := catalog.Get(c.Op)
	if err != nil {
		return nil, out, err
	}
	in, err = o.Spec.Inputs(c)
	if err != nil {
		return nil, out, err
	}
	outputs, err := o.Spec.Outputs(c)
	if err != nil {
		return nil, out, err
	}
	if len(outputs) != 1 {
		return nil, out, fmt.Errorf("%s has %d outputs: want one", c.Op, len(outputs))
	}
	return in, outputs[0], nil
}
