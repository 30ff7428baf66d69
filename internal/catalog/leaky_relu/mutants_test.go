package leaky_relu

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/elementwise/elementwisetest"
	"triad/internal/truth/formula"
	"triad/internal/truth/truthtest"
)

var suites = elementwisetest.Suites("leaky_relu",
	elementwisetest.Wrong{
		Name: "the larger of x and slope * x, which a slope above 1 turns round", Output: "y", Of: larger,
	},
	elementwisetest.Wrong{Name: "the gradient at 0 is 1", Output: "grad_x", Of: oneAtZero},
	elementwisetest.Wrong{Name: "the gradient at NaN is dy", Output: "grad_x", Of: oneAtNaN},
	elementwisetest.Wrong{Name: "the sign of dy decides", Output: "grad_x", Of: signOfTheGradient},
)

func slope(attributes op.Attrs) *formula.Node { return formula.C(attributes.Number("slope")) }

// larger returns a bug, or nil for slopes from 0 to 1.
func larger(attributes op.Attrs) *formula.Node {
	if attributes.Number("slope") <= 1 && attributes.Number("slope") >= 0 {
		return nil
	}
	return x.Above(zero, slope(attributes).Times(x), x)
}

func oneAtZero(attributes op.Attrs) *formula.Node {
	return zero.AtMost(x, dy, slope(attributes).Times(dy))
}

func oneAtNaN(attributes op.Attrs) *formula.Node {
	return x.AtMost(zero, slope(attributes).Times(dy), dy)
}

func signOfTheGradient(attributes op.Attrs) *formula.Node {
	return dy.Above(zero, dy, slope(attributes).Times(dy))
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
