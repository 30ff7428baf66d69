// Package elementwise is the family of operators whose every output element is a formula of the elements at
// the same place. An operator states its formulas, other forms that a right kernel may use, and what holds of
// them; truth, allowance, simulated contract, the proof of the gradients and relations follow. Package
// elementwisetest derives mutants and right variants.
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

// Operator is what an operator states.
type Operator struct {
	Forward, Backward []Output // in the order of the spec, of the names in its [backward] inputs
	Permits           []string // the contracts: fp32, stored (at Stored nodes), eager
	// the dims along which rows lie, for outputs of at least two dims: see truth.Definition
	ByRows []string
	Holds  []Property
}

// Output is one output or gradient. Its formula is Formula, or where attributes decide what Of says.
type Output struct {
	Name string
	Formula
	Of func(attributes op.Attrs) Formula
}

// Formula is a value with the ways in which right kernels compute it.
type Formula struct {
	// Forms are formulas of the pass's inputs with the same value. R and the simulated contract are those of
	// the first, T is that of the worst.
	Forms []*formula.Node
	// Allowance is T under fp32 where docs/judge.md has a row for it, for the values of the pass's inputs in
	// the order of the spec and R. It then takes the place of the worst form's, which may be looser.
	Allowance func(in []float64, r float64) float64
}

// operators are the registered ones, by name.
var operators = map[string]Operator{}

// Register makes an operator's truth, the proof of its gradients and its relations known: var _ =
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

// Get gives what a registered operator states.
func Get(name string) (Operator, bool) {
	o, ok := operators[name]
	return o, ok
}

// Outputs are those of a pass.
func (o Operator) Outputs(pass op.Pass) []Output {
	if pass == op.Backward {
		return o.Backward
	}
	return o.Forward
}

// At is the formula of an output under the attributes of a case.
func (o Output) At(attributes op.Attrs) Formula {
	if o.Of != nil {
		return o.Of(attributes)
	}
	return o.Formula
}

// Inputs are the names of the tensors that a pass of an operator takes.
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

// compute is the truth of the outputs of a pass.
func (o Operator) compute(outputs []Output) truth.Function {
	return func(k *truth.Request) ([]judge.Target, error) {
		names, err := Inputs(k.Case)
		if err != nil {
			return nil, err
		}
		if err := ranked(k, names); err != nil {
			return nil, err
		}
		in, err := k.Rows(names...)
		if err != nil {
			return nil, err
		}
		var targets []judge.Target
		for _, output := range outputs {
			e, err := evaluationOf(k, output.At(k.Attrs), names, in.Tensors[0].DType)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", output.Name, err)
			}
			targets = append(targets, e.target(k, in, output.Name))
		}
		return targets, nil
	}
}

// ranked says which input has not as many dims as the operator's tensors have.
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

// evaluation computes the truth of one output under one contract.
type evaluation struct {
	Formula
	names         []string
	dtype         op.DType
	strict, loose formula.Rules
}

func evaluationOf(k *truth.Request, f Formula, names []string, d op.DType) (*evaluation, error) {
	strict := formula.Rules{Output: d, Step: d}
	loose := strict
	loose.EveryStep, loose.Marked = k.Rules.EveryStep, len(k.Rules.Stores) > 0
	e := &evaluation{Formula: f, names: names, dtype: d, strict: strict, loose: loose}
	_, err := formula.NewBounds(f.Forms, names, strict)
	return e, err
}

// core is the working memory of one core.
type core struct {
	rows          [][]float64
	element       []float64
	strict, loose *formula.Bounds
}

func (e *evaluation) memory(cols int64) func() *core {
	return func() *core {
		c := &core{element: make([]float64, len(e.names)), rows: make([][]float64, len(e.names))}
		for i := range c.rows {
			c.rows[i] = make([]float64, cols)
		}
		// evaluationOf has proven that it can be made
		c.strict, _ = formula.NewBounds(e.Forms, e.names, e.strict)
		c.loose, _ = formula.NewBounds(e.Forms, e.names, e.loose)
		return c
	}
}

// fill computes a run of elements, whose inputs are in the core's rows.
func (e *evaluation) fill(c *core, out truth.Row) {
	for i := range out.R {
		for k, row := range c.rows {
			c.element[k] = row[i]
		}
		out.R[i], out.T[i], out.TFP32[i], out.Sim[i] = e.one(c)
	}
	truth.RoundRow(out.Sim, out.Sim, e.dtype)
}

// one is the truth of the core's element: sim is not rounded to the output yet.
func (e *evaluation) one(c *core) (r, t, tFP32, sim float64) {
	if e.Allowance != nil {
		r = c.strict.Value(c.element)
		tFP32, sim = e.Allowance(c.element, r), r
	} else {
		r, tFP32, sim = c.strict.Element(c.element)
	}
	t = tFP32
	if e.loose != e.strict {
		_, t, sim = c.loose.Element(c.element)
		t = max(t, tFP32)
	}
	return r, t, tFP32, sim
}

// target is an output that has the shape and dtype of the first input.
func (e *evaluation) target(k *truth.Request, in truth.RowInputs, name string) judge.Target {
	like := in.Tensors[0]
	if len(like.Shape) >= 2 {
		chosen := k.Sample.Choose(truth.RowsOf(like))
		t := k.RowTarget(name, like.DType, like.Shape, chosen)
		truth.FillRows(k, t, chosen, e.memory(in.Cols), func(own *core, _, r int64, out truth.Row) {
			in.Read(own.rows, r)
			e.fill(own, out)
		})
		return t
	}
	return e.flat(k, in.Tensors, name)
}

// flatRow is how many neighbours of a tensor of one dim are a row of a sample, and what a core computes at
// once.
const flatRow = 4096

// flat is the target of an output of one dim.
func (e *evaluation) flat(k *truth.Request, in []tensor.Tensor, name string) judge.Target {
	n := in[0].Elements()
	rows := (n + flatRow - 1) / flatRow
	chosen := k.Sample.Choose(rows)
	var index []int64
	if chosen != nil {
		index = []int64{}
		for _, r := range chosen {
			for i := r * flatRow; i < min((r+1)*flatRow, n); i++ {
				index = append(index, i)
			}
		}
	}
	t := k.TargetAt(name, in[0].DType, in[0].Shape, index)
	truth.EachRowWith(chosen, rows, e.memory(flatRow), func(own *core, i, r int64) {
		length := min(flatRow, n-r*flatRow)
		for j, x := range in {
			x.DecodeRow(own.rows[j][:length], 0, r*flatRow)
		}
		a, b := i*flatRow, i*flatRow+length // the last row, the only shorter one, comes last
		e.fill(own, truth.Row{R: t.R[a:b], T: t.T[a:b], TFP32: t.TFP32[a:b], Sim: t.Sim[a:b]})
	})
	return t
}

// losses are the forward's outputs, each times its upstream gradient, as a function of each input that has a
// gradient: what the complex step proves the stated derivatives with. An input that the backward does not
// take stands for any: the forward is linear in it, or the proof fails.
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
	for _, in := range spec.Spec.InputSpecs {
		x, err := k.Values(in.Name)
		if err != nil {
			x = [][]float64{make([]float64, len(upstream[0]))}
		}
		names, values = append(names, in.Name), append(values, x[0])
	}
	all := truth.Partial(names, values, func(z [][]complex128) complex128 {
		total := complex128(0)
		for j, output := range o.Forward {
			first := output.At(k.Attrs).Forms[0]
			for i, dy := range upstream[j] {
				total += complex(dy, 0) * formula.Complex(first,
					func(name string) complex128 { return z[slices.Index(names, name)][i] })
			}
		}
		return total
	})
	return slices.DeleteFunc(all, func(l truth.Loss) bool {
		return !slices.ContainsFunc(o.Backward, func(g Output) bool { return g.Name == l.Gradient() })
	}), nil
}

// gradients are the names of the backward's outputs.
func (o Operator) gradients() []string {
	var names []string
	for _, g := range o.Backward {
		names = append(names, g.Name)
	}
	return names
}

// upstream are the names of the upstream gradients, one for each output of the forward.
func (o Operator) upstream() []string {
	var names []string
	for _, output := range o.Forward {
		names = append(names, "grad_"+output.Name)
	}
	return names
}

// inputs are the names that the forward's formulas take, under any attributes that need no value.
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
