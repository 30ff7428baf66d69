// Package elementwise is the family of operators whose every output element is a formula of the elements at
// the same place. An operator states its formulas, other forms that a right kernel may use, and their
// properties; truth, error bound, simulated contract, the proof of the gradients and relations follow.
// Package elementwisetest derives mutants and right variants.
package elementwise

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/catalog"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/formula"
)

// Operator describes an operator of this family.
type Operator struct {
	Forward, Backward []Output // in the order of the spec, of the names in its [backward] inputs
	Permits           []string // the contracts: fp32, stored (at Stored nodes), eager
	ByRows            []string // the dims along which rows lie: see truth.Definition
	Holds             []Property
}

// Output is one output or gradient. Its formula is Formula, or the result of Of where attributes decide. With
// Columns it is the sum of the formula over all rows, one element a column: the gradient of an input that
// stands for every row.
type Output struct {
	Name string
	Formula
	Of      func(attributes op.Attrs) Formula
	Columns bool
}

// Formula is a value with its forms in right kernels.
type Formula struct {
	// Forms are formulas of the pass's inputs with the same value. R and the simulated contract follow from
	// the first, T from the worst.
	Forms []*formula.Node
	// ErrorBound is T under fp32 where docs/judge.md has a row for it, for the values of the pass's inputs in
	// the order of the spec and R. It then replaces that of the worst form, which may be looser.
	ErrorBound func(in []float64, r float64) float64
}

// Either selects one of two formulas of an output: the first where an attribute has the value, the second
// otherwise.
func Either(attribute, value string) func(chosen, other Formula) func(op.Attrs) Formula {
	return func(chosen, other Formula) func(op.Attrs) Formula {
		return func(attributes op.Attrs) Formula {
			if attributes.Text(attribute) == value {
				return chosen
			}
			return other
		}
	}
}

// operators are the registered operators, by name.
var operators = map[string]Operator{}

// Register registers an operator's truth, the proof of its gradients and its relations: var _ =
// Register("silu", Operator{...}).
func Register(name string, o Operator) struct{} {
	operators[name] = o
	definition := truth.Definition{
		Forward: o.compute(o.Forward), Permits: o.Permits, ByRows: o.ByRows, Whole: true,
	}
	if len(o.Backward) > 0 {
		definition.Backward = o.compute(o.Backward)
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

// Outputs returns the outputs of a pass.
func (o Operator) Outputs(pass op.Pass) []Output {
	if pass == op.Backward {
		return o.Backward
	}
	return o.Forward
}

// At returns the formula of an output under the attributes of a case.
func (o Output) At(attributes op.Attrs) Formula {
	if o.Of != nil {
		return o.Of(attributes)
	}
	return o.Formula
}

// Inputs returns the names of the tensors that a pass of an operator takes.
func Inputs(c op.Case) ([]string, error) {
	o, err := catalog.Get(c.Op)
	if err != nil {
		return nil, err
	}
	if c.Pass == op.Backward {
		return o.Spec.Backward.Inputs, nil
	}
	var names []string
	for _, t := range o.Spec.InputSpecs {
		names = append(names, t.Name)
	}
	return names, nil
}

// compute returns the truth of the outputs of a pass.
func (o Operator) compute(outputs []Output) truth.Function {
	return func(k *truth.Request) ([]judge.Target, error) {
		names, err := Inputs(k.Case)
		if err != nil {
			return nil, err
		}
		if err := ranked(k, names); err != nil {
			return nil, err
		}
		in, err := k.Broadcast(names...)
		if err != nil {
			return nil, err
		}
		var targets []judge.Target
		for _, output := range outputs {
			fill := target
			if output.Columns {
				fill = columns
			}
			t, err := fill(k, output, names, in)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", output.Name, err)
			}
			targets = append(targets, t)
		}
		return targets, nil
	}
}

// target returns an output that has the shape and dtype of the first input.
func target(k *truth.Request, output Output, names []string, in truth.RowInputs) (judge.Target, error) {
	like := in.Tensors[0]
	if len(like.Shape) < 2 {
		return Flat(k, output, names, in.Tensors, like.Elements())
	}
	e, err := NewEvaluation(k, output.At(k.Attrs), names, like.DType)
	if err != nil {
		return judge.Target{}, err
	}
	chosen := k.Sample.Choose(truth.RowsOf(like))
	t := k.RowTarget(output.Name, like.DType, like.Shape, chosen)
	truth.FillRows(k, t, chosen, e.Memory(in.Cols), func(own *Memory, _, r int64, out truth.Row) {
		in.Read(own.Rows, r)
		e.Fill(own, out)
		truth.RoundRow(out.Sim, out.Sim, like.DType)
	})
	return t, nil
}

// Flat returns the target of an output of n elements in one dim, which has the dtype of the first input. An
// input of one element has the same value everywhere.
func Flat(k *truth.Request, output Output, names []string, in []tensor.Tensor,
	n int64,
) (judge.Target, error) {
	d := in[0].DType
	e, err := NewEvaluation(k, output.At(k.Attrs), names, d)
	if err != nil {
		return judge.Target{}, err
	}
	t := k.FlatTarget(output.Name, d, n)
	truth.FillFlat(k, t, e.Memory(truth.FlatRow), func(own *Memory, first int64, out truth.Row) {
		own.Read(in, first, len(out.R))
		e.Fill(own, out)
		truth.RoundRow(out.Sim, out.Sim, d)
	})
	return t, nil
}

// ranked returns an error for an input whose rank differs from that of the operator's tensors.
func ranked(k *truth.Request, names []string) error {
	o, err := catalog.Get(k.Op)
	if err != nil {
		return err
	}
	types, err := o.Spec.Inputs(k.Case)
	if err != nil {
		return err
	}
	for i, name := range names {
		if _, err := k.Rank(name, len(types[i].Shape)); err != nil {
			return err
		}
	}
	return nil
}

// losses returns the forward's outputs, each times its upstream gradient, as a function of each input that
// has a gradient: the complex step proves the stated derivatives with them. An input that the backward does
// not take may have any value: the forward is linear in it, or the proof fails.
func (o Operator) losses(k *truth.Request) ([]truth.Loss, error) {
	spec, err := catalog.Get(k.Op)
	if err != nil {
		return nil, err
	}
	var names []string
	var values [][]float64
	var upstream [][]float64
	for _, output := range o.Forward {
		dy, err := k.Values("grad_" + output.Name)
		if err != nil {
			return nil, err
		}
		upstream = append(upstream, dy[0])
	}
	inputs, err := spec.Spec.ForwardInputs(k.Case)
	if err != nil {
		return nil, err
	}
	for _, in := range inputs {
		x, err := k.Values(in.Name)
		if err != nil {
			x = [][]float64{make([]float64, in.Elements())}
		}
		names, values = append(names, in.Name), append(values, x[0])
	}
	all := truth.Partial(names, values, func(z [][]complex128) complex128 {
		total := complex128(0)
		for j, output := range o.Forward {
			first := output.At(k.Attrs).Forms[0]
			for i, dy := range upstream[j] {
				total += complex(dy, 0) * formula.Complex(first, func(name string) complex128 {
					x := z[slices.Index(names, name)]
					return x[i%len(x)] // one row for all rows
				})
			}
		}
		return total
	})
	return slices.DeleteFunc(all, func(l truth.Loss) bool {
		return !slices.ContainsFunc(o.Backward, func(g Output) bool { return g.Name == l.Gradient() })
	}), nil
}

// gradients returns the names of the backward's outputs.
func (o Operator) gradients() []string {
	var names []string
	for _, g := range o.Backward {
		names = append(names, g.Name)
	}
	return names
}

// upstream returns the names of the upstream gradients, one for each output of the forward.
func (o Operator) upstream() []string {
	var names []string
	for _, output := range o.Forward {
		names = append(names, "grad_"+output.Name)
	}
	return names
}

// inputs returns the names that the forward's formulas take, under any attributes that need no value.
func (o Operator) inputs(c op.Case) []string {
	var names []string
	for _, output := range o.Outputs(c.Pass) {
		for _, n := range formula.Operations(output.At(c.Attrs).Forms...) {
			if n.Kind == formula.Input && !slices.Contains(names, n.Name) &&
				!strings.HasPrefix(n.Name, "grad_") {
				names = append(names, n.Name)
			}
		}
	}
	return names
}
