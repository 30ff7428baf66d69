package relu

import (
	"testing"

	"triad/internal/truth/elementwise/elementwisetest"
	"triad/internal/truth/truthtest"
)

var suites = elementwisetest.Suites("relu",
	elementwisetest.Wrong{
		Name: "NaN becomes 0, as with fmaxf", Output: "y",
		Of: elementwisetest.Always(x.Above(zero, x, zero)),
	},
	elementwisetest.Wrong{
		Name: "the gradient at 0 is 1", Output: "grad_x",
		Of: elementwisetest.Always(zero.Above(x, zero, dy)),
	},
	elementwisetest.Wrong{
		Name: "the gradient at NaN is 0", Output: "grad_x",
		Of: elementwisetest.Always(x.Above(zero, dy, zero)),
	},
	elementwisetest.Wrong{
		Name: "the sign of dy decides", Output: "grad_x",
		Of: elementwisetest.Always(dy.AtMost(zero, zero, dy)),
	},
	elementwisetest.Wrong{
		Name: "negative numbers change their sign", Output: "y",
		Of: elementwisetest.Always(x.AtMost(zero, x.Neg(), x)),
	},
)

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
