// Package reductiontest derives what an operator that adds up terms is scored with: right kernels in several
// orders of summation, and the bugs of sums.
package reductiontest

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/elementwise"
	"triad/internal/truth/elementwise/elementwisetest"
	"triad/internal/truth/formula"
	"triad/internal/truth/formula/planted"
	"triad/internal/truth/reduction"
	"triad/internal/truth/truthtest"
)

// Bugs of the sum itself.
const (
	lowAccumulator = "the accumulator in 16 bits"
	lowPartials    = "partial sums in 16 bits"
	tail           = "the tail is not added"
	lastElement    = "the last element is not added"
	twice          = "an element is added twice"
	lastWarp       = "the last warp is not added"
	lostUpdate     = "the update of a block is lost"
	ignoresNaN     = "NaN and infinities are left out"
	mean           = "the mean for the sum, or the sum for the mean"
	low            = "the result in 16 bits"
)

// block is how many terms a partial sum of an emulated kernel has.
const block = 64

// Suites are those of the passes of an operator: its sum, and its gradients, which are elementwise.
func Suites(name string) []truthtest.Suite {
	o, _ := reduction.Get(name)
	inputs, err := elementwise.Inputs(op.Case{Op: name, Pass: op.Forward})
	if err != nil {
		panic(err) // a test's own mistake
	}
	f := family{Operator: o, inputs: inputs, planted: planted.TermBugs(o.Term.Forms[0])}
	suite := truthtest.Suite{Op: name, Pass: op.Forward, Kernel: f.kernel, Right: truthtest.RowVariants}
	add := func(name string, equivalent func(g truthtest.Group) string) {
		suite.Mutants = append(suite.Mutants, truthtest.Mutant{
			Number: len(suite.Mutants) + 1, Name: name, Equivalent: equivalent,
		})
	}
	for _, b := range []string{
		lowAccumulator, lowPartials, tail, lastElement, twice, lastWarp, lostUpdate, ignoresNaN, mean,
	} {
		add(b, nil)
	}
	add(low, func(g truthtest.Group) string {
		if g.Dtype == op.FP32.String() {
			return ""
		}
		return "the result is stored in 16 bits anyway"
	})
	for _, b := range f.planted {
		add(b.Name, nil)
	}
	return append([]truthtest.Suite{suite}, gradients(name, o)...)
}

// gradients is the suite of the backward.
func gradients(name string, o reduction.Operator) []truthtest.Suite {
	if len(o.Backward) == 0 {
		return nil
	}
	upstream := formula.In("grad_" + o.Output)
	var wrong []elementwisetest.Wrong
	for _, g := range o.Backward {
		n := g.Forms[0]
		wrong = append(wrong,
			elementwisetest.Wrong{
				Name: "ones for the upstream gradient", Output: g.Name,
				Of: elementwisetest.Always(planted.Replaced(n, upstream.Name, formula.C(1))),
			},
			elementwisetest.Wrong{
				Name: "a hundredth too large", Output: g.Name,
				Of: elementwisetest.Always(n.Times(formula.C(1.01))),
			},
			elementwisetest.Wrong{
				Name: "the opposite sign", Output: g.Name, Of: elementwisetest.Always(n.Neg()),
			})
	}
	return []truthtest.Suite{elementwisetest.Gradients(name, o.Backward, []string{upstream.Name}, wrong...)}
}

// family emulates the sum of an operator.
type family struct {
	reduction.Operator
	inputs  []string
	planted []planted.Bug
}

// kernel computes the terms and adds them up in blocks, each in the order of the variant.
func (f family) kernel(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	x := f.terms(a, p)
	n := len(x)
	switch a.Bug {
	case tail:
		x = x[:n/truthtest.Vector*truthtest.Vector]
	case lastElement:
		x = x[:max(n-1, 0)]
	case twice:
		x = append(x, x[n/2:min(n/2+1, n)]...)
	case lastWarp:
		x = x[:max(n-1, 0)/truthtest.Warp*truthtest.Warp]
	case lostUpdate:
		first := n / 2 / block * block
		x = append(x[:first:first], x[min(first+block, n):]...)
	case ignoresNaN:
		for i, v := range x {
			if !truth.IsFinite(v) {
				x[i] = 0
			}
		}
	case lowAccumulator:
		return [][]float64{{f.finished(a.Bug, p,
			truthtest.SumLow(p.Low(), n, func(i int) float64 { return x[i] }), n)}}
	}
	y := a.Sum((len(x)+block-1)/block, func(b int) float64 {
		s := a.Sum(min(block, len(x)-b*block), func(i int) float64 { return x[b*block+i] })
		if a.Bug == lowPartials {
			s = tensor.Round(p.Low(), s, false)
		}
		return s
	})
	return [][]float64{{f.finished(a.Bug, p, y, n)}}
}

// finished is what becomes of the sum of n terms.
func (f family) finished(bug string, p *truthtest.Prepared, y float64, n int) float64 {
	if f.Mean != (bug == mean) {
		y = truthtest.F32(y / math.Max(1, float64(n)))
	}
	if bug == low {
		y = tensor.Round(p.Low(), y, false)
	}
	return y
}

// terms are what is added up.
func (f family) terms(a truthtest.Arithmetic, p *truthtest.Prepared) []float64 {
	forms := f.Term.Forms
	n := forms[a.Form%len(forms)]
	for _, b := range f.planted {
		if b.Name == a.Bug {
			n = b.Formula
		}
	}
	return planted.Kernel{Fused: a.Fused, Noisy: a.Noisy, Low: p.Low()}.Elements(n, f.inputs, p.V)
}
