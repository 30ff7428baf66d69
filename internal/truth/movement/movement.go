// Package movement is the family of operators that move elements without changing them: every element of the
// output is a copy of one of the input, and every element of the input goes to one place. An operator states
// the map and its inverse; the truth (exact: bits are compared), the gradient, its proof and relations
// follow. Package movementtest derives mutants and right variants.
package movement

import (
	"fmt"

	"triad/internal/catalog"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
)

// Contract is the only one: moved elements keep their bits.
const Contract = "exact"

// Map writes into from the source index of an element, given its destination index.
type Map func(c op.Case, to, from []int64)

// Operator describes an operator of this family.
type Operator struct {
	Input, Output string
	From          Map // of an output index, the input index that it copies
	Back          Map // of an input index, the output index that copies it
	// the dims along which rows of the output lie: see truth.Definition
	ByRows []string
	// Again returns the case whose input is the output, of an operator that undoes itself; nil where it does
	// not.
	Again func(c op.Case) op.Case
	// Copies returns the number of places in the output that an element of the input goes to; nil where it is
	// one. CopyAt then replaces Back and locates the copy of a given number. The backward is then a sum, and
	// both passes are under the contract Sums.
	Copies func(c op.Case) int64
	CopyAt func(c op.Case, number int64, to, from []int64)
}

// Sums is the contract of an operator whose backward adds up copies. Its forward is judged to the bit too.
const Sums = "fp32"

// operators are the registered operators, by name.
var operators = map[string]Operator{}

// Register registers an operator's truth, the proof of its gradient and its relations: var _ =
// Register("transpose", Operator{...}).
func Register(name string, o Operator) struct{} {
	operators[name] = o
	definition := truth.Definition{
		Forward: o.compute, Backward: o.compute, Permits: []string{Contract}, ByRows: o.ByRows, Whole: true,
	}
	if o.Copies != nil {
		definition.Backward, definition.Permits = o.added, []string{Sums}
	}
	truth.Register(name, definition)
	truth.RegisterLosses(name, o.losses)
	truth.Relate(name, o.relations()...)
	return struct{}{}
}

// Get returns a registered operator.
func Get(name string) (Operator, bool) {
	o, ok := operators[name]
	return o, ok
}

// Of returns the map of a pass, with the tensor that it reads.
func (o Operator) Of(pass op.Pass) (input string, from Map) {
	if pass == op.Backward {
		return "grad_" + o.Output, o.Back
	}
	return o.Input, o.From
}

// compute returns the truth of a pass: the elements of one input at other places.
func (o Operator) compute(k *truth.Request) ([]judge.Target, error) {
	input, from := o.Of(k.Pass)
	in, out, err := tensors(k.Case)
	if err != nil {
		return nil, err
	}
	if err := k.Shaped(input, in.Shape...); err != nil {
		return nil, err
	}
	x, err := k.Tensor(input)
	if err != nil {
		return nil, err
	}
	if x.DType != out.DType {
		return nil, wrongDType(input, x.DType, out.DType)
	}
	y := k.Exact(out, func() func(at []int64) float64 {
		read, place := truth.ElementReader(x), make([]int64, len(x.Shape))
		return func(at []int64) float64 {
			from(k.Case, at, place)
			return read(place)
		}
	})
	y.Bits, y.FTZ, y.Independent = true, false, false
	return []judge.Target{y}, nil
}

func wrongDType(input string, got, want op.DType) error {
	return fmt.Errorf("%s is %v: want %v", input, got, want)
}

// tensors returns the input and the output of a case's pass.
func tensors(c op.Case) (in, out op.TensorType, err error) {
	o, err := catalog.Get(c.Op)
	if err != nil {
		return in, out, err
	}
	inputs, err := o.Spec.Inputs(c)
	if err != nil {
		return in, out, err
	}
	outputs, err := o.Spec.Outputs(c)
	if err != nil {
		return in, out, err
	}
	if len(inputs) != 1 || len(outputs) != 1 {
		return in, out, fmt.Errorf("%s %v has %d inputs and %d outputs: want one of each", c.Op, c.Pass,
			len(inputs), len(outputs))
	}
	return inputs[0], outputs[0], nil
}

// losses returns the forward, times its upstream gradient, as a function of its input: the complex step
// proves Back with From alone.
func (o Operator) losses(k *truth.Request) ([]truth.Loss, error) {
	forward := k.Case
	forward.Pass = op.Forward
	in, out, err := tensors(forward)
	if err != nil {
		return nil, err
	}
	upstream, err := k.Values("grad_" + o.Output)
	if err != nil {
		return nil, err
	}
	place := make([]int64, len(in.Shape))
	x := [][]float64{make([]float64, in.Elements())}
	return truth.Partial([]string{o.Input}, x, func(z [][]complex128) complex128 {
		total := complex128(0)
		for i, dy := range upstream[0] {
			o.From(forward, truth.IndexOf(int64(i), out.Shape), place)
			total += complex(dy, 0) * z[0][truth.PositionOf(place, in.Shape)]
		}
		return total
	}), nil
}
