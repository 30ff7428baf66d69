// Package gelu is the truth of y = x * Phi(x), Phi the normal distribution function, and of its approximation
// by tanh.
package gelu

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
)

var (
	x, dy     = formula.In("x"), formula.In("grad_y")
	one, half = formula.C(1), formula.C(0.5)
	root      = formula.C(math.Sqrt(2 / math.Pi))
	cubic     = formula.C(0.044715)

	phi     = half.Times(one.Plus(x.Times(formula.C(math.Sqrt(0.5))).Erf())) // Phi(x)
	density = formula.C(1 / math.Sqrt(2*math.Pi)).Times(formula.C(-0.5).Times(x).Times(x).Exp())

	inner  = root.Times(x.Plus(cubic.Times(x).Times(x).Times(x)))
	factor = x.Times(root.Plus(formula.C(0.044715 * math.Sqrt(2/math.Pi)).Times(x.Times(x)))) // inner again
	// its derivative
	slope = root.Times(one.Plus(formula.C(3 * 0.044715).Times(x).Times(x)))
	tanh  = inner.Tanh()
	twice = formula.C(2).Times(inner)
)

var exact = elementwise.Formula{
	Forms: []*formula.Node{
		half.Times(x).Times(one.Plus(x.Times(formula.C(math.Sqrt(0.5))).Erf())),
		x.Times(phi),
	},
	Allowance: exactAllowance,
}

var exactBackward = elementwise.Formula{
	Forms:     []*formula.Node{dy.Times(phi.Plus(x.Times(density)))},
	Allowance: exactBackwardAllowance,
}

var approximate = elementwise.Formula{
	Forms: []*formula.Node{
		half.Times(x).Times(one.Plus(tanh)),
		half.Times(x).Times(one.Plus(factor.Tanh())),
		x.Times(twice.Sigmoid()),
	},
	Allowance: approximateAllowance,
}

// approximateBackward has no row of its own: its allowance is that of the worst form. The first has no
// cancellation in fp64. In the second, 1 - tanh^2 is (1 - tanh)*(1 + tanh), which is 0 where tanh is 1 to the
// last bit, as 1 - tanh*tanh is in every kernel.
var approximateBackward = elementwise.Formula{Forms: []*formula.Node{
	dy.Times(twice.Sigmoid().Plus(x.Times(twice.Sigmoid().Times(twice.Neg().Sigmoid())).Times(formula.C(2).Times(slope)))),
	dy.Times(half.Times(one.Plus(tanh)).Plus(half.Times(x).Times(one.Minus(tanh).Times(one.Plus(tanh))).Times(slope))),
}}

var _ = elementwise.Register("gelu", elementwise.Operator{
	Forward:  []elementwise.Output{{Name: "y", Of: either(exact, approximate)}},
	Backward: []elementwise.Output{{Name: "grad_x", Of: either(exactBackward, approximateBackward)}},
	Permits:  []string{"fp32"}, ByRows: []string{"n"},
	Holds: []elementwise.Property{elementwise.Apart("x"), elementwise.BetweenZeroAnd("x")},
})

// either is the formula that the attribute asks for.
func either(none, tanh elementwise.Formula) func(op.Attrs) elementwise.Formula {
	return func(a op.Attrs) elementwise.Formula {
		if a.Text("approximate") == "tanh" {
			return tanh
		}
		return none
	}
}

// lost is what products lose below fp32's normal range.
func lost(x float64) float64 { return (2 + math.Abs(x)) * truth.Subnormal }

// exactAllowance is T = 2*u32*|x| + 4*u32*|R|: erf near -1 is off by 2 ulp.
func exactAllowance(in []float64, r float64) float64 {
	if in[0] == 0 {
		return 0
	}
	return judge.U32*(2*math.Abs(in[0])+4*math.Abs(r)) + lost(in[0])
}

// exactBackwardAllowance is T = |dy|*u32*(2 + |x|*density*(x^2+8)) + 4*u32*|R|.
func exactBackwardAllowance(in []float64, r float64) float64 {
	a, d := math.Abs(in[0]), math.Abs(in[1])
	if d == 0 {
		return 0
	}
	density := math.Exp(-0.5*a*a) / math.Sqrt(2*math.Pi)
	return judge.U32*(d*(2+a*density*(a*a+8))+4*math.Abs(r)) + (1+d)*lost(a)
}

// approximateAllowance is T = 4*u32*|x| + 6*u32*|R|.
func approximateAllowance(in []float64, r float64) float64 {
	if in[0] == 0 {
		return 0
	}
	return judge.U32*(4*math.Abs(in[0])+6*math.Abs(r)) + lost(in[0])
}
