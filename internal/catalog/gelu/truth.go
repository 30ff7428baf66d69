// Package gelu is the truth of y = x * Phi(x), Phi the normal distribution function, and of its approximation
// by tanh.
package gelu

import (
	"math"

	"triad/internal/judge"
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
)

var (
	x, dy, one, half = formula.In("x"), formula.In("grad_y"), formula.C(1), formula.C(0.5)
	halved           = half.Times(x)

	erf     = x.Times(formula.C(math.Sqrt(0.5))).Erf()
	phi     = half.Times(one.Plus(erf)) // Phi(x)
	density = formula.C(1 / math.Sqrt(2*math.Pi)).Times(formula.C(-0.5).Times(x).Times(x).Exp())

	root     = formula.C(math.Sqrt(2 / math.Pi))
	inner    = root.Times(x.Plus(formula.C(0.044715).Times(x).Times(x).Times(x)))
	factored = x.Times(root.Plus(formula.C(0.044715 * math.Sqrt(2/math.Pi)).Times(x.Times(x)))) // inner again
	slope    = root.Times(one.Plus(formula.C(3 * 0.044715).Times(x).Times(x)))                  // inner'
	twice    = formula.C(2).Times(inner)

	tanh, sigmoid, rest = inner.Tanh(), twice.Sigmoid(), twice.Neg().Sigmoid() // sigmoid = (1 + tanh) / 2
)

var exact = elementwise.Formula{
	Forms:      []*formula.Node{halved.Times(one.Plus(erf)), x.Times(phi)},
	ErrorBound: elementwise.Units(2, 4), // erf near -1 is off by 2 ulp
}

var approximate = elementwise.Formula{
	Forms: []*formula.Node{
		halved.Times(one.Plus(tanh)), halved.Times(one.Plus(factored.Tanh())), x.Times(sigmoid),
	},
	ErrorBound: elementwise.Units(4, 6),
}

var exactBackward = elementwise.Formula{
	Forms:      []*formula.Node{dy.Times(phi.Plus(x.Times(density)))},
	ErrorBound: exactBackwardErrorBound,
}

// approximateBackward has no row of its own: its error bound is that of the worst form. The first has no
// cancellation in fp64. In the second, 1 - tanh^2 is (1 - tanh)*(1 + tanh), which is 0 where tanh is 1 to the
// last bit, as 1 - tanh*tanh is in every kernel.
var approximateBackward = elementwise.Formula{Forms: []*formula.Node{
	dy.Times(sigmoid.Plus(x.Times(sigmoid.Times(rest)).Times(formula.C(2).Times(slope)))),
	dy.Times(half.Times(one.Plus(tanh)).Plus(halved.Times(one.Minus(tanh).Times(one.Plus(tanh))).Times(slope))),
}}

var byTanh = elementwise.Either("approximate", "tanh")

var _ = elementwise.Register("gelu", elementwise.Operator{
	Forward:  []elementwise.Output{{Name: "y", Of: byTanh(approximate, exact)}},
	Backward: []elementwise.Output{{Name: "grad_x", Of: byTanh(approximateBackward, exactBackward)}},
	Permits:  []string{"fp32"}, ByRows: []string{"n"},
	Holds: []elementwise.Property{elementwise.Apart("x"), elementwise.BetweenZeroAnd("x")},
})

// exactBackwardErrorBound returns T = |dy|*u32*(2 + |x|*density*(x^2+8)) + 4*u32*|R|.
func exactBackwardErrorBound(in []float64, r float64) float64 {
	a, d := math.Abs(in[0]), math.Abs(in[1])
	if d == 0 {
		return 0
	}
	density := math.Exp(-0.5*a*a) / math.Sqrt(2*math.Pi)
	return judge.U32*(d*(2+a*density*(a*a+8))+4*math.Abs(r)) + (1+d)*elementwise.Lost(a)
}
