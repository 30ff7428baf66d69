// Package silu is the truth of y = x * sigmoid(x).
package silu

import (
	"math"

	"triad/internal/judge"
	"triad/internal/truth"
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
)

var x, dy, one = formula.In("x"), formula.In("grad_y"), formula.C(1)

// rest is 1 - sigmoid(x) without cancellation.
var sigmoid, rest = x.Sigmoid(), x.Neg().Sigmoid()

var _ = elementwise.Register("silu", elementwise.Operator{
	Forward: []elementwise.Output{{Name: "y", Formula: elementwise.Formula{
		Forms:      []*formula.Node{x.Times(sigmoid), x.Over(one.Plus(x.Neg().Exp()))},
		ErrorBound: forwardErrorBound,
	}}},
	Backward: []elementwise.Output{{Name: "grad_x", Formula: elementwise.Formula{
		Forms: []*formula.Node{
			dy.Times(sigmoid.Times(one.Plus(x.Times(rest)))),
			dy.Times(sigmoid.Times(one.Plus(x.Times(one.Minus(sigmoid))))),
			dy.Times(sigmoid.Plus(x.Times(sigmoid).Times(one.Minus(sigmoid)))),
		},
		ErrorBound: backwardErrorBound,
	}}},
	Permits: []string{"fp32", "eager"}, ByRows: []string{"n"},
	Holds: []elementwise.Property{elementwise.Apart("x"), elementwise.BetweenZeroAnd("x")},
})

// overflowed is the error where exp(-x) overflows fp32: the sigmoid is then below 2^-128 and becomes 0.
const overflowed = 0x1p-128

// forwardErrorBound returns T = u32*(2|x|+12)*|R| + |x|*2^-128, and the loss of products below fp32's normal
// range.
func forwardErrorBound(in []float64, r float64) float64 {
	a := math.Abs(in[0])
	if a == 0 {
		return 0
	}
	return judge.U32*(2*a+12)*math.Abs(r) + a*overflowed + (2+a)*truth.Subnormal
}

// backwardErrorBound returns T = |dy|*(u32*(2|x|+16)*sigma*(1+|x|(1-sigma)) + 3*u32*sigma*|x| +
// (1+|x|)*2^-128), and the loss of products below fp32's normal range.
func backwardErrorBound(in []float64, _ float64) float64 {
	a, d := math.Abs(in[0]), math.Abs(in[1])
	if d == 0 {
		return 0
	}
	sigma, rest := 1/(1+math.Exp(-in[0])), 1/(1+math.Exp(in[0]))
	return d*(judge.U32*(2*a+16)*sigma*(1+a*rest)+3*judge.U32*sigma*a+(1+a)*overflowed) +
		(1+a)*(1+d)*2*truth.Subnormal
}
