package silu

import (
	"testing"

	"triad/internal/truth/elementwise/elementwisetest"
	"triad/internal/truth/formula"
	"triad/internal/truth/truthtest"
)

var suites = elementwisetest.Suites("silu",
	elementwisetest.Wrong{
		Name: "x * tanh(x/2), halved", Output: "y",
		Of: elementwisetest.Always(formula.C(0.5).Times(x).Times(x.Times(formula.C(0.5)).Tanh())),
	},
	elementwisetest.Wrong{
		Name: "the form that overflows", Output: "y",
		Of: elementwisetest.Always(x.Times(x.Exp().Over(one.Plus(x.Exp())))),
	},
	elementwisetest.Wrong{
		Name: "the slope of the sigmoid", Output: "grad_x",
		Of: elementwisetest.Always(dy.Times(sigmoid.Times(rest))),
	},
)

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
