// Package reductiontest derives the kernels that an operator that adds up terms is scored with: right ones in
// several orders of summation, and the bugs of sums.
package reductiontest

import (
	"math"
	"slices"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
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

// Bugs of segments.
const (
	nextBegins  = "the first element of the next segment is added"
	keepsSum    = "a segment begins with the sum of the one before"
	emptyKeeps  = "an empty segment has the sum of the one before"
	lastUnknown = "the last segment is not written"
	carryLost   = "what a segment has in later tiles is lost"
	unevenLost  = "elements after the length of an even segment are lost"
)

// block is the number of terms in a partial sum of an emulated kernel.
const block = 64

// Suites returns the suites of the passes of an operator: its sum, and its gradients, which are elementwise.
func Suites(name string) []truthtest.Suite {
	o, _ := reduction.Get(name)
	inputs, err := o.Summed(op.Case{Op: name, Pass: op.Forward})
	if err != nil {
		panic(err) // a test's own mistake
	}
	f := family{Operator: o, inputs: inputs, planted: planted.TermBugs(o.Term.Forms[0])}
	suite := truthtest.Suite{Op: name, Pass: op.Forward, Kernel: f.kernel, Right: truthtest.RowVariants}
	suite.Mutants.Add(nil, lowAccumulator, lowPartials, tail, lastElement, twice, lastWarp, lostUpdate,
		ignoresNaN, mean)
	suite.Mutants.Add(truthtest.StoredIn16Bits, low)
	for _, b := range f.planted {
		suite.Mutants.Add(nil, b.Name)
	}
	if o.Offsets != "" {
		suite.Kernel = f.segments
		suite.Mutants.Add(nil, nextBegins, keepsSum, emptyKeeps, lastUnknown, carryLost, unevenLost)
	}
	return append([]truthtest.Suite{suite}, gradients(name, o)...)
}

// gradients returns the suite of the backward.
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

// kernel returns the sum of all terms.
func (f family) kernel(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	return [][]float64{{f.sum(a, p, f.terms(a, p))}}
}

// segments returns the sums of the terms between offsets.
func (f family) segments(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	x, offsets := f.terms(a, p), p.V[f.Offsets]
	y := make([]float64, len(offsets)-1)
	for s := range y {
		first, end := int(offsets[s]), int(offsets[s+1])
		switch a.Bug {
		case nextBegins:
			end = min(end+1, len(x))
		case carryLost:
			end = min(end, (first/block+1)*block)
		case unevenLost:
			end = min(end, first+(len(x)+len(y)-1)/len(y))
		}
		y[s] = f.sum(a, p, slices.Clone(x[first:end]))
		if s > 0 && (a.Bug == keepsSum || a.Bug == emptyKeeps && first == end) {
			y[s] = truthtest.F32(y[s] + y[s-1])
		}
	}
	if a.Bug == lastUnknown && len(y) > 0 {
		y[len(y)-1] = truthtest.Unwritten
	}
	return [][]float64{y}
}

// sum adds up terms in blocks, each in the order of the variant.
func (f family) sum(a truthtest.Arithmetic, p *truthtest.Prepared, x []float64) float64 {
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
		return f.finished(a.Bug, p, truthtest.SumLow(p.Low(), n, func(i int) float64 { return x[i] }), n)
	}
	y := a.Sum((len(x)+block-1)/block, func(b int) float64 {
		s := a.Sum(min(block, len(x)-b*block), func(i int) float64 { return x[b*block+i] })
		if a.Bug == lowPartials {
			s = tensor.Round(p.Low(), s, false)
		}
		return s
	})
	return f.finished(a.Bug, p, y, n)
}

// finished returns the output for a sum of n terms.
func (f family) finished(bug string, p *truthtest.Prepared, y float64, n int) float64 {
	if f.Mean != (bug == mean) {
		y = truthtest.F32(y / math.Max(1, float64(n)))
	}
	if bug == low {
		y = tensor.Round(p.Low(), y, false)
	}
	return y
}

// terms returns the terms of the sum.
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
