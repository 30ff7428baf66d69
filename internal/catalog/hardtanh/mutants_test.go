package hardtanh

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/elementwise/elementwisetest"
	"triad/internal/truth/formula"
	"triad/internal/truth/truthtest"
)

var suites = elementwisetest.Suites("hardtanh",
	elementwisetest.Wrong{Name: "NaN becomes a bound, as with fmaxf and fminf", Output: "y", Of: lostNaN},
	elementwisetest.Wrong{Name: "the bounds' signs are lost", Output: "y", Of: symmetric},
	elementwisetest.Wrong{Name: "the gradient at the lower bound is dy", Output: "grad_x", Of: openBelow},
	elementwisetest.Wrong{Name: "the gradient at the upper bound is dy", Output: "grad_x", Of: openAbove},
	elementwisetest.Wrong{Name: "dy is held between the bounds", Output: "grad_x", Of: heldGradient},
)

func lostNaN(a op.Attrs) *formula.Node {
	return x.Above(low(a), high(a).AtMost(x, high(a), x), low(a))
}

// symmetric returns a bug, or nil where the lower bound is the upper one with the opposite sign.
func symmetric(a op.Attrs) *formula.Node {
	if a.Number("low") == -a.Number("high") {
		return nil
	}
	below := high(a).Neg()
	return x.AtMost(below, below, high(a).AtMost(x, high(a), x))
}

func openBelow(a op.Attrs) *formula.Node {
	return low(a).Above(x, zero, high(a).AtMost(x, zero, dy))
}

func openAbove(a op.Attrs) *formula.Node {
	return x.AtMost(low(a), zero, x.Above(high(a), zero, dy))
}

func heldGradient(a op.Attrs) *formula.Node {
	return dy.AtMost(low(a), low(a), high(a).AtMost(dy, high(a), dy))
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
