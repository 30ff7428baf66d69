package bias_mask_scale_add

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/elementwise/elementwisetest"
	"triad/internal/truth/formula"
	"triad/internal/truth/truthtest"
)

var suites = elementwisetest.Suites(
	"bias_mask_scale_add",
	elementwisetest.Wrong{
		Name:   "the mask selects, and inf * 0 is 0",
		Output: "y",
		Of: func(a op.Attrs) *formula.Node {
			chosen := mask.Above(formula.C(0), x.Plus(bias), formula.C(0))
			return chosen.Scaled(a.Number("scale")).Plus(residual)
		},
	},
	elementwisetest.Wrong{Name: "the bias is not masked", Output: "y", Of: func(a op.Attrs) *formula.Node {
		return x.Times(mask).Plus(bias).Scaled(a.Number("scale")).Plus(residual)
	}},
	elementwisetest.Wrong{Name: "the residual is masked", Output: "y", Of: func(a op.Attrs) *formula.Node {
		return x.Plus(bias).Scaled(a.Number("scale")).Plus(residual).Times(mask)
	}},
	elementwisetest.Wrong{Name: "the bias is not scaled", Output: "y", Of: func(a op.Attrs) *formula.Node {
		if a.Number("scale") == 1 {
			return nil
		}
		return x.Scaled(a.Number("scale")).Plus(bias).Times(mask).Plus(residual)
	}},
	elementwisetest.Wrong{Name: "the residual is scaled", Output: "y", Of: func(a op.Attrs) *formula.Node {
		if a.Number("scale") == 1 {
			return nil
		}
		return x.Plus(bias).Times(mask).Plus(residual).Scaled(a.Number("scale"))
	}},
	elementwisetest.Wrong{Name: "the mask inverted", Output: "y", Of: func(a op.Attrs) *formula.Node {
		return x.Plus(bias).Times(formula.C(1).Minus(mask)).Scaled(a.Number("scale")).Plus(residual)
	}},
	elementwisetest.Wrong{
		Name: "the residual's gradient is masked", Output: "grad_residual",
		Of: elementwisetest.Always(dy.Times(mask)),
	},
	elementwisetest.Wrong{Name: "scaled too", Output: "grad_residual", Of: func(a op.Attrs) *formula.Node {
		if a.Number("scale") == 1 {
			return nil
		}
		return dy.Scaled(a.Number("scale"))
	}},
)

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
