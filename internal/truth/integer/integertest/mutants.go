// Package integertest derives the kernels that an operator of exact integers is scored with: right ones in
// every stated form, and the bugs of integers.
package integertest

import (
	"math"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/integer"
	"triad/internal/truth/truthtest"
)

// Wrong is a bug of the operator's own: another formula. A result beyond the dtype wraps.
type Wrong struct {
	Name string
	Of   integer.Formula
	// why it has no effect there; nil: it has one everywhere
	Equivalent func(g truthtest.Group) string
}

// The bugs that do not depend on the formula.
const (
	copied    = "the input, copied"
	oneMore   = "one more"
	oneLess   = "one less"
	signed    = "the result saturates at half the range"
	halved    = "the lowest bit lost"
	neighbour = "the inputs of the next element"
	shifted   = "the formula of the next column"
	tail      = "tail not written"
	lastZero  = "the last element zero"
)

// Suites returns the suite of the operator's forward.
func Suites(name string, wrong ...Wrong) []truthtest.Suite {
	spec, err := catalog.Get(name)
	if err != nil {
		panic(err) // a test's own mistake
	}
	f := &family{wrong: wrong}
	f.operator, _ = integer.Get(name)
	for _, t := range spec.Spec.InputSpecs {
		f.inputs = append(f.inputs, t.Name)
	}
	s := truthtest.Suite{Op: name, Pass: op.Forward, Kernel: f.kernel}
	for i := range f.operator.Forms {
		s.Right = append(s.Right, truthtest.Arithmetic{Form: i})
	}
	names := []string{neighbour, tail, lastZero}
	if f.operator.Stored == nil {
		names = append([]string{copied, oneMore, oneLess, signed, halved}, names...)
	}
	if f.depends(spec.Spec) {
		names = append(names, shifted)
	}
	s.Mutants.Add(nil, names...)
	for _, w := range wrong {
		s.Mutants.Add(w.Equivalent, w.Name)
	}
	return []truthtest.Suite{s}
}

// family scores the forward.
type family struct {
	operator integer.Operator
	inputs   []string
	wrong    []Wrong
}

// depends reports whether the formula differs in the next column, for some column and inputs.
func (f *family) depends(spec *op.Spec) bool {
	plan, err := spec.Expand(op.Options{Level: op.LevelQuick})
	if err != nil {
		panic(err)
	}
	for _, c := range plan.Cases {
		outputs, err := spec.Outputs(c)
		if err != nil {
			panic(err)
		}
		shape := outputs[0].Shape
		last := len(shape) - 1
		for i := range min(outputs[0].Elements(), 64) {
			at := truth.IndexOf(i, shape)
			next := truth.IndexOf(i, shape)
			next[last] = (next[last] + 1) % shape[last]
			in := make([]int64, len(f.inputs))
			for j := range in {
				in[j] = 3*i + int64(j)
			}
			if f.operator.Forms[0](c, at, in) != f.operator.Forms[0](c, next, in) {
				return true
			}
		}
	}
	return false
}

// kernel emulates the operator in 64-bit integers; stored values wrap to the dtype.
func (f *family) kernel(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	out := p.Truth.Outputs[0]
	formula := f.operator.Forms[a.Form]
	for _, w := range f.wrong {
		if w.Name == a.Bug {
			formula = w.Of
		}
	}
	y := make([]float64, len(out.R))
	for i := range y {
		y[i] = f.element(a.Bug, p, formula, i)
	}
	if a.Bug == tail && len(y) > 0 {
		truthtest.LeaveTail(y, 1, len(y))
	}
	return [][]float64{y}
}

// element returns one element, with its bug.
func (f *family) element(bug string, p *truthtest.Prepared, formula integer.Formula, i int) float64 {
	out := p.Truth.Outputs[0]
	n, at := len(out.R), truth.IndexOf(int64(i), out.Shape)
	in := make([]int64, len(f.inputs))
	for j, name := range f.inputs {
		x := p.V[name]
		from := i * len(x) / n // of an input of fewer dims, that at the leading indices
		if bug == neighbour {
			from = min(from+1, len(x)-1)
		}
		in[j] = int64(x[from])
	}
	if bug == shifted {
		last := len(at) - 1
		at[last] = (at[last] + 1) % out.Shape[last]
	}
	y := formula(p.Case, at, in)
	if bug == lastZero && i == n-1 && n > 1 {
		return 0
	}
	if f.operator.Stored != nil {
		return f.operator.Stored(y)
	}
	low, high := tensor.IntegerRange(out.DType)
	switch bug {
	case copied:
		y = in[0]
	case oneMore:
		y++
	case oneLess:
		y--
	case signed:
		y = min(y, int64(low+(high-low)/2))
	case halved:
		y &^= 1
	}
	return wrapped(y, low, high)
}

// wrapped returns a value as an integer of a range keeps it.
func wrapped(y int64, low, high float64) float64 {
	span := high - low + 1
	return low + math.Mod(math.Mod(float64(y)-low, span)+span, span)
}
