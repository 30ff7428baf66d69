// Package scantest derives the kernels that a running sum is scored with: right ones that scan tiles in
// several ways, and the bugs of scans, most of which sit where one tile ends and the next begins.
package scantest

import (
	"slices"

	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula/planted"
	"triad/internal/truth/scan"
	"triad/internal/truth/truthtest"
)

// Bugs of the scan itself.
const (
	otherKind      = "exclusive and inclusive swapped"
	subtracted     = "exclusive as the inclusive sum minus the element"
	lowAccumulator = "sums in 16 bits"
	lowCarry       = "what a tile begins with in 16 bits"
	tail           = "tail not written"
	noCarry        = "no tile begins with what is before it"
	lastCarry      = "the last tile begins with 0"
	carryTwice     = "a tile begins with the tile before it twice"
	carryEarlier   = "a tile begins without the tile before it"
	boundary       = "the first element of a tile begins without what is before it"
	lostElement    = "the last element of a tile is missing in the next"
	firstElement   = "the first element is not added"
	backwards      = "from the end"
	ignoresNaN     = "NaN and infinities are left out"
	low            = "the result in 16 bits"
	inFP32         = "integers added in fp32"
	saturated      = "a sum beyond the range stays at its end"
)

// tile is the number of elements that an emulated kernel scans at once.
const tile = 64

// Suites returns the suites of the forward of an operator.
func Suites(name string) []truthtest.Suite {
	o, _ := scan.Get(name)
	inputs, err := elementwise.Inputs(op.Case{Op: name, Pass: op.Forward})
	if err != nil {
		panic(err) // a test's own mistake
	}
	f := family{Operator: o, inputs: inputs, planted: planted.TermBugs(o.Term.Forms[0])}
	suite := truthtest.Suite{Op: name, Pass: op.Forward, Kernel: f.kernel}
	for form := range o.Term.Forms {
		for _, k := range planted.Kernels[:1+min(len(o.Term.Forms[0].Operands), 1)*3] {
			for order := range orders {
				suite.Right = append(suite.Right, truthtest.Arithmetic{
					Order: order, Form: form, Fused: k.Fused, Noisy: k.Noisy,
				})
			}
		}
	}
	suite.Mutants.Add(nil, lowAccumulator, lowCarry, tail, noCarry, lastCarry, carryTwice, carryEarlier,
		boundary, lostElement, firstElement, backwards)
	suite.Mutants.Add(ofFractions, ignoresNaN)
	if o.Whole != nil {
		suite.Mutants.Add(ofIntegers, inFP32, saturated)
	}
	if o.Exclusive != "" {
		suite.Mutants.Add(nil, otherKind)
		suite.Mutants.Add(f.onlyExclusive, subtracted)
	}
	suite.Mutants.Add(truthtest.StoredIn16Bits, low)
	for _, b := range f.planted {
		suite.Mutants.Add(ofFractions, b.Name)
	}
	return []truthtest.Suite{suite}
}

// family emulates the scan of an operator.
type family struct {
	scan.Operator
	inputs  []string
	planted []planted.Bug
}

func (f family) onlyExclusive(g truthtest.Group) string {
	if ofFractions(g) != "" {
		return "integers that wrap lose nothing by it"
	}
	if g.Attribute == f.Exclusive && g.Value == "true" {
		return ""
	}
	return "the inclusive sum is not computed so"
}

// kernel scans tile by tile: each begins with the sum of those before it.
func (f family) kernel(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	x := f.terms(a, p)
	n := len(x)
	add, narrow := arithmeticOf(a.Bug, p)
	y := make([]float64, n)
	var carries []float64
	carry := 0.0
	for first := 0; first < n; first += tile {
		end := min(first+tile, n)
		sums := orders[a.Order](x[first:end], add)
		carries = append(carries, carry)
		begin := begins(a.Bug, carries, x, first, end == n, add)
		if a.Bug == lowCarry {
			begin = narrow(begin)
		}
		f.store(a, p, y, sums, x, first, begin, add)
		carry = add(carry, sums[len(sums)-1])
	}
	switch a.Bug {
	case backwards:
		slices.Reverse(y)
	case tail:
		truthtest.LeaveTail(y, 1, n)
	case low:
		for i, v := range y {
			y[i] = narrow(v)
		}
	}
	return [][]float64{y}
}

// begins returns the sum that a tile begins with.
func begins(bug string, carries, x []float64, first int, last bool, add func(a, b float64) float64) float64 {
	t := len(carries) - 1
	carry := carries[t]
	switch {
	case t == 0:
		return carry
	case bug == noCarry, bug == lastCarry && last:
		return 0
	case bug == carryTwice:
		return add(carry, add(carry, -carries[t-1]))
	case bug == carryEarlier:
		return carries[t-1]
	case bug == lostElement:
		return add(carry, -x[first-1])
	}
	return carry
}

// store writes the outputs of a tile from its inclusive sums.
func (f family) store(a truthtest.Arithmetic, p *truthtest.Prepared, y, sums, x []float64, first int,
	begin float64, add func(a, b float64) float64,
) {
	exclusive := f.LeavesOut(p.Attrs) != (a.Bug == otherKind)
	for i, s := range sums {
		switch own := begin; {
		case i == 0 && a.Bug == boundary:
			y[first] = 0
			if !exclusive {
				y[first] = s
			}
		case !exclusive:
			y[first+i] = add(own, s)
		case a.Bug == subtracted:
			y[first+i] = add(add(own, s), -x[first+i])
		case i == 0:
			y[first] = own
		default:
			y[first+i] = add(own, sums[i-1])
		}
	}
}

// orders are ways to scan a tile: each returns the inclusive sums.
var orders = []func(x []float64, add func(a, b float64) float64) []float64{inSequence, hillisSteele, blelloch}

func inSequence(x []float64, add func(a, b float64) float64) []float64 {
	y, sum := make([]float64, len(x)), 0.0
	for i, v := range x {
		sum = add(sum, v)
		y[i] = sum
	}
	return y
}

// hillisSteele scans in steps, each adding the element twice as far before.
func hillisSteele(x []float64, add func(a, b float64) float64) []float64 {
	y := slices.Clone(x)
	for by := 1; by < len(y); by *= 2 {
		before := slices.Clone(y)
		for i := by; i < len(y); i++ {
			y[i] = add(before[i-by], before[i])
		}
	}
	return y
}

// blelloch sums up a tree and hands down the sum before each leaf.
func blelloch(x []float64, add func(a, b float64) float64) []float64 {
	y := make([]float64, tile)
	copy(y, x)
	for by := 1; by < tile; by *= 2 {
		for i := 2*by - 1; i < tile; i += 2 * by {
			y[i] = add(y[i-by], y[i])
		}
	}
	y[tile-1] = 0
	for by := tile / 2; by > 0; by /= 2 {
		for i := 2*by - 1; i < tile; i += 2 * by {
			y[i-by], y[i] = y[i], add(y[i], y[i-by])
		}
	}
	for i, v := range x {
		y[i] = add(y[i], v)
	}
	return y[:len(x)]
}

// terms returns the terms of the sums.
func (f family) terms(a truthtest.Arithmetic, p *truthtest.Prepared) []float64 {
	n := f.Term.Forms[a.Form]
	for _, b := range f.planted {
		if b.Name == a.Bug {
			n = b.Formula
		}
	}
	var x []float64
	if addsIntegers(p) {
		x = f.wholeTerms(p)
	} else {
		x = planted.Kernel{Fused: a.Fused, Noisy: a.Noisy, Low: p.Low()}.Elements(n, f.inputs, p.V)
	}
	switch a.Bug {
	case firstElement:
		if len(x) > 0 {
			x[0] = 0
		}
	case backwards:
		slices.Reverse(x)
	case ignoresNaN:
		for i, v := range x {
			if !truth.IsFinite(v) {
				x[i] = 0
			}
		}
	}
	return x
}
