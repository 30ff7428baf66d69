package gelu

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/elementwise/elementwisetest"
	"triad/internal/truth/formula"
	"triad/internal/truth/truthtest"
)

// under returns a bug of one kind of GELU.
func under(kind string, n *formula.Node) func(op.Attrs) *formula.Node {
	return func(a op.Attrs) *formula.Node {
		if a.Text("approximate") != kind {
			return nil
		}
		return n
	}
}

var suites = elementwisetest.Suites("gelu",
	elementwisetest.Wrong{Name: "tanh for erf", Output: "y", Of: under("none", approximate.Forms[0])},
	elementwisetest.Wrong{Name: "erf for tanh", Output: "y", Of: under("tanh", exact.Forms[0])},
	elementwisetest.Wrong{
		Name: "1.702 sigmoid", Output: "y",
		Of: elementwisetest.Always(x.Times(formula.C(1.702).Times(x).Sigmoid())),
	},
	elementwisetest.Wrong{
		Name: "tanh' for erf'", Output: "grad_x",
		Of: under("none", approximateBackward.Forms[0]),
	},
	elementwisetest.Wrong{
		Name: "erf' for tanh'", Output: "grad_x",
		Of: under("tanh", exactBackward.Forms[0]),
	},
)

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
