// Package elementwisetest derives the kernels that an elementwise operator is scored with: right ones in
// every stated form, and bugs that follow from its formulas.
package elementwisetest

import (
	"fmt"
	"slices"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
	"triad/internal/truth/formula/planted"
	"triad/internal/truth/truthtest"
)

// Wrong is a bug of the operator's own: another formula for an output. Of returns nil where attributes make
// it right.
type Wrong struct {
	Name, Output string
	Of           func(attributes op.Attrs) *formula.Node
}

// Always returns a formula for all attributes.
func Always(n *formula.Node) func(op.Attrs) *formula.Node {
	return func(op.Attrs) *formula.Node { return n }
}

// Bugs that do not depend on the formula.
const (
	tail      = "tail not written"
	neighbour = "the inputs of the next element"
	swapped   = "outputs swapped"
)

// Suites returns the suites of the passes of an operator.
func Suites(name string, wrong ...Wrong) []truthtest.Suite {
	var all []truthtest.Suite
	spec := mustSpec(name)
	operator, _ := elementwise.Get(name)
	for _, pass := range spec.Passes() {
		f := &family{spec: spec, pass: pass, wrong: wrong, operator: operator}
		all = append(all, f.suite())
	}
	return all
}

// Gradients returns the suite of the backward of an operator of another family, whose gradients are
// elementwise in its inputs and in upstream gradients of one element, which are the scalars.
func Gradients(name string, outputs []elementwise.Output, scalars []string, wrong ...Wrong) truthtest.Suite {
	f := &family{
		spec: mustSpec(name), pass: op.Backward, wrong: wrong, scalars: scalars,
		operator: elementwise.Operator{Backward: outputs},
	}
	return f.suite()
}

func (f *family) suite() truthtest.Suite {
	f.inputs, _ = elementwise.Inputs(op.Case{Op: f.spec.Name, Pass: f.pass})
	f.under, f.planted = f.attributes(), map[string][]planted.Bug{}
	for _, a := range f.under {
		for _, o := range f.operator.Outputs(f.pass) {
			f.planted[o.Name+fmt.Sprint(a)] = f.bugs(o, a)
		}
	}
	return truthtest.Suite{
		Op: f.spec.Name, Pass: f.pass, Right: f.right(), Kernel: f.kernel, Mutants: f.mutants(),
	}
}

func mustSpec(name string) *op.Spec {
	o, err := catalog.Get(name)
	if err != nil {
		panic(err) // a test's own mistake
	}
	return o.Spec
}

// family scores one pass.
type family struct {
	spec     *op.Spec
	operator elementwise.Operator
	pass     op.Pass
	wrong    []Wrong
	inputs   []string
	scalars  []string                 // of them those of one element
	under    []op.Attrs               // every combination of attributes
	planted  map[string][]planted.Bug // by output and attributes
}

// attributes lists every combination of the values of enumerations and booleans, the other attributes at
// their defaults.
func (f *family) attributes() []op.Attrs {
	plan, err := f.spec.Expand(op.Options{Passes: []op.Pass{f.pass}})
	if err != nil {
		panic(err)
	}
	seen := map[string]bool{}
	var all []op.Attrs
	for _, c := range plan.Cases {
		if key := fmt.Sprint(c.Attrs); !seen[key] {
			seen[key] = true
			all = append(all, c.Attrs)
		}
	}
	return all
}

// right returns the kernels that must pass: every form in every arithmetic.
func (f *family) right() []truthtest.Arithmetic {
	forms := 1
	for _, a := range f.under {
		for _, o := range f.operator.Outputs(f.pass) {
			forms = max(forms, len(o.At(a).Forms))
		}
	}
	var all []truthtest.Arithmetic
	for i := range forms {
		for _, k := range planted.Kernels {
			all = append(all, truthtest.Arithmetic{Form: i, Fused: k.Fused, Noisy: k.Noisy})
		}
	}
	if slices.ContainsFunc(f.operator.Outputs(f.pass), isColumns) {
		all = append(all, truthtest.RowVariants...)
	}
	return all
}

// bugs returns the bugs of one output under some attributes.
func (f *family) bugs(o elementwise.Output, a op.Attrs) []planted.Bug {
	n := o.At(a).Forms[0]
	list := planted.Bugs(n)
	if o.Columns {
		list = planted.TermBugs(n)
	}
	for _, w := range f.wrong {
		if w.Output == o.Name {
			if n := w.Of(a); n != nil {
				list = append(list, planted.Bug{Name: w.Name, Formula: n})
			}
		}
	}
	for i := range list {
		list[i].Name = o.Name + ": " + list[i].Name
	}
	return list
}

// mutants numbers the bugs of all outputs and attributes.
func (f *family) mutants() truthtest.Mutants {
	var all truthtest.Mutants
	add := func(name string, equivalent func(g truthtest.Group) string) {
		if !slices.ContainsFunc(all, func(m truthtest.Mutant) bool { return m.Name == name }) {
			all.Add(equivalent, name)
		}
	}
	for _, a := range f.under {
		for _, o := range f.operator.Outputs(f.pass) {
			for _, b := range f.planted[o.Name+fmt.Sprint(a)] {
				add(b.Name, func(g truthtest.Group) string { return f.equivalent(b.Name, g) })
			}
		}
	}
	add(tail, nil)
	if f.takesElements() {
		add(neighbour, nil)
	}
	if f.outputsDiffer() {
		add(swapped, nil)
	}
	for _, o := range f.operator.Outputs(f.pass) {
		for _, b := range columnBugs {
			if o.Columns {
				add(o.Name+": "+b, nil)
			}
		}
	}
	return all
}

// takesElements reports whether a formula takes an input whose value varies between elements.
func (f *family) takesElements() bool {
	for _, o := range f.operator.Outputs(f.pass) {
		for _, n := range formula.Operations(o.At(f.under[0]).Forms...) {
			if n.Kind == formula.Input && !slices.Contains(f.scalars, n.Name) {
				return true
			}
		}
	}
	return false
}

// outputsDiffer reports whether several outputs of one shape have different formulas.
func (f *family) outputsDiffer() bool {
	a, b := f.alike()
	outputs := f.operator.Outputs(f.pass)
	return a != b &&
		outputs[a].At(f.under[0]).Forms[0].String() != outputs[b].At(f.under[0]).Forms[0].String()
}

// alike returns the first two outputs of one shape; one twice where there are none.
func (f *family) alike() (a, b int) {
	outputs := f.operator.Outputs(f.pass)
	for i, o := range outputs {
		for j := range i {
			if o.Columns == outputs[j].Columns {
				return j, i
			}
		}
	}
	return 0, 0
}

// equivalent returns why a bug shows nothing in a group: under the group's attributes no output has it, or
// its dtype hides it.
func (f *family) equivalent(name string, g truthtest.Group) string {
	d, err := op.ParseDType(g.Dtype)
	if err != nil {
		return err.Error()
	}
	why := fmt.Sprintf("%s = %s computes otherwise", g.Attribute, g.Value)
	for _, a := range f.under {
		if g.Attribute != "" && a.Text(g.Attribute) != g.Value {
			continue
		}
		for _, o := range f.operator.Outputs(f.pass) {
			for _, b := range f.planted[o.Name+fmt.Sprint(a)] {
				if b.Name != name {
					continue
				}
				if b.Right == nil || b.Right(d) == "" {
					return ""
				}
				why = b.Right(d)
			}
		}
	}
	return why
}

// kernel emulates the pass.
func (f *family) kernel(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	k := planted.Kernel{Fused: a.Fused, Noisy: a.Noisy, Low: p.Low()}
	var all [][]float64
	for _, o := range f.operator.Outputs(f.pass) {
		forms := o.At(p.Attrs).Forms
		n := forms[a.Form%len(forms)]
		for _, b := range f.planted[o.Name+fmt.Sprint(p.Attrs)] {
			if b.Name == a.Bug {
				n = b.Formula
			}
		}
		y := f.elements(k.Prepare(n, f.inputs...), p, a.Bug == neighbour)
		if o.Columns {
			y = sumOfRows(a, o.Name, p, y)
		}
		all = append(all, y)
	}
	switch a.Bug {
	case tail:
		for i, y := range all {
			rows, cols := shapeOf(p.Truth.Outputs[i].Shape)
			truthtest.LeaveTail(y, rows, cols)
		}
	case swapped:
		i, j := f.alike()
		all[i], all[j] = all[j], all[i]
	}
	return all
}

// elements computes an output element by element; next takes each from the inputs of the following one. An
// input of fewer elements is repeated.
func (f *family) elements(k *planted.Prepared, p *truthtest.Prepared, next bool) []float64 {
	n := len(p.Truth.Outputs[0].R) // no sum over rows comes first
	y := make([]float64, n)
	in := make([][]float64, len(f.inputs))
	for j, name := range f.inputs {
		in[j] = p.V[name]
	}
	element := make([]float64, len(in))
	for i := range y {
		at := i
		if next {
			at = min(i+1, n-1)
		}
		for j, x := range in {
			element[j] = x[at%len(x)]
		}
		y[i] = k.Element(element)
	}
	return y
}

// shapeOf returns a shape as rows of its last dim.
func shapeOf(shape []int64) (rows, cols int) {
	t := tensor.Tensor{Shape: shape}
	cols = int(shape[len(shape)-1])
	if cols == 0 {
		return 0, 0
	}
	return int(t.Elements()) / cols, cols
}
