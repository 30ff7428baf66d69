// Package reduction is the family of operators that add up a term over all elements of their inputs, or
// over those of each segment, or take its mean. An operator states the term, as an elementwise formula, and
// its gradients, which are elementwise in the inputs and the one upstream gradient; truth, error bound, the
// exact cases, the proof of the gradients and relations follow. Package reductiontest derives mutants and
// right variants. Sums are in fp32, outside tensor cores.
package reduction

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
)

// Operator describes an operator of this family.
type Operator struct {
	Output   string               // one element: the sum, 0 where there is no element
	Offsets  string               // the input with the starts of segments; each has a sum. "": none
	Mean     bool                 // the sum divided by the number of elements, at least one
	Term     elementwise.Formula  // of the inputs at one place
	Backward []elementwise.Output // of the inputs at the place and of grad_<Output>
	Permits  []string
	Linear   []string // inputs that double the sum when they are doubled
	Commutes bool     // its two inputs may be swapped
}

// operators are the registered operators, by name.
var operators = map[string]Operator{}

// Register registers an operator's truth, the proof of its gradients and its relations: var _ =
// Register("sum", Operator{...}).
func Register(name string, o Operator) struct{} {
	operators[name] = o
	definition := truth.Definition{Forward: o.forward, Permits: o.Permits, ByRows: []string{"n"}}
	if o.Offsets != "" {
		definition.Forward, definition.ByRows, definition.Whole = o.segments, nil, true
	}
	if len(o.Backward) > 0 {
		definition.Backward = o.backward
		truth.RegisterLosses(name, o.losses)
	}
	truth.Register(name, definition)
	truth.Relate(name, o.relations()...)
	return struct{}{}
}

// Get returns a registered operator.
func Get(name string) (Operator, bool) {
	o, ok := operators[name]
	return o, ok
}

// terms returns the inputs of a sum, to be read row by row, and the evaluation of its terms.
func (o Operator) terms(k *truth.Request, names []string) (truth.RowInputs, *elementwise.Evaluation, error) {
	in, err := k.Rows(names...)
	if err != nil {
		return truth.RowInputs{}, nil, err
	}
	e, err := elementwise.NewTerm(k, o.Term, names, in.Tensors[0].DType)
	if err != nil {
		return truth.RowInputs{}, nil, fmt.Errorf("%s: %w", o.Output, err)
	}
	return in, e, nil
}

// forward computes the sum: R and the companions are added up in rows of truth.FlatRow elements, and these
// pairwise, so that the bits do not depend on the number of cores.
func (o Operator) forward(k *truth.Request) ([]judge.Target, error) {
	names, err := elementwise.Inputs(k.Case)
	if err != nil {
		return nil, err
	}
	if _, err := k.Rank(names[0], 1); err != nil {
		return nil, err
	}
	in, e, err := o.terms(k, names)
	if err != nil {
		return nil, err
	}
	d := in.Tensors[0].DType
	n := in.Tensors[0].Elements()
	exactTerms := k.Distribution == "integers" && areExactTerms(o.Term, names, in.Tensors)
	parts := make([]part, (n+truth.FlatRow-1)/truth.FlatRow)
	truth.EachRowWith(nil, int64(len(parts)), e.TermRows(), func(own *elementwise.TermRow, i, _ int64) {
		first := i * truth.FlatRow
		parts[i] = sumOf(e, own, in.Tensors, first, min(first+truth.FlatRow, n), exactTerms)
	})
	all := together(parts)
	y := k.TargetAt(o.Output, d, []int64{1}, nil)
	y.Uniform = true
	y.R[0] = all.Sum
	y.T[0], y.TFP32[0] = k.SumError(all.Terms)
	exact := k.ExactSums(all.Terms)
	if o.Mean {
		all.sim /= float64(n)
		exact = divide(&y, float64(n)) && exact
	}
	truth.RoundRow(y.Sim, []float64{all.sim}, d)
	if exact {
		y = truth.Exactly(y)
	}
	return []judge.Target{y}, nil
}

// quotientUnits is the loss of a mean in addition to that of its sum, in units of judge.U32: an approximate
// quotient (see package formula) by a number of elements that fp32 may have to round.
const quotientUnits = 5.0

// divide turns a sum into a mean and reports whether the quotient is exact, as by a power of two.
func divide(y *judge.Target, n float64) bool {
	y.R[0] /= n
	fraction, _ := math.Frexp(n)
	lost := 0.0
	if fraction != 0.5 {
		lost = quotientUnits*judge.U32*math.Abs(y.R[0]) + truth.Subnormal
	}
	y.T[0], y.TFP32[0] = y.T[0]/n+lost, y.TFP32[0]/n+lost
	return lost == 0
}

// part is some terms: sim is the sum under the simulated contract.
type part struct {
	truth.Terms
	sim float64
}

// together adds up parts pairwise.
func together(parts []part) part {
	switch n := len(parts); n {
	case 0:
		return part{}
	case 1:
		return parts[0]
	default:
		a, b := together(parts[:n/2]), together(parts[n/2:])
		return part{a.With(b.Terms), a.sim + b.sim}
	}
}

// backward returns the gradients, which have the shape of the first input.
func (o Operator) backward(k *truth.Request) ([]judge.Target, error) {
	names, err := elementwise.Inputs(k.Case)
	if err != nil {
		return nil, err
	}
	x, err := k.Rank(names[0], 1)
	if err != nil {
		return nil, err
	}
	in, err := k.Tensors(names...)
	if err = truth.FirstError(err, k.Shaped("grad_"+o.Output, 1)); err != nil {
		return nil, err
	}
	var targets []judge.Target
	for _, output := range o.Backward {
		t, err := elementwise.Flat(k, output, names, in, x.Elements())
		if err != nil {
			return nil, fmt.Errorf("%s: %w", output.Name, err)
		}
		t.Uniform = !slices.ContainsFunc(formula.Operations(output.At(k.Attrs).Forms...),
			func(n *formula.Node) bool { return n.Kind == formula.Input && n.Name != "grad_"+o.Output })
		targets = append(targets, t)
	}
	return targets, nil
}

// losses returns the sum times its upstream gradient, as a function of each input that has a gradient.
func (o Operator) losses(k *truth.Request) ([]truth.Loss, error) {
	names, err := elementwise.Inputs(op.Case{Op: k.Op, Pass: op.Forward})
	if err != nil {
		return nil, err
	}
	values, err := k.Values(append(names, "grad_"+o.Output)...)
	if err != nil {
		return nil, err
	}
	dy := values[len(names)][0]
	all := truth.Partial(names, values[:len(names)], func(z [][]complex128) complex128 {
		total := complex128(0)
		for i := range z[0] {
			total += formula.Complex(o.Term.Forms[0],
				func(name string) complex128 { return z[slices.Index(names, name)][i] })
		}
		return complex(dy, 0) * total
	})
	return slices.DeleteFunc(all, func(l truth.Loss) bool {
		return !slices.ContainsFunc(o.Backward,
			func(g elementwise.Output) bool { return g.Name == l.Gradient() })
	}), nil
}
