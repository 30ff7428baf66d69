// Package bias_mask_scale_add is the truth of y = (x + bias) * mask * scale + residual.
package bias_mask_scale_add

import (
	"triad/internal/op"
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
)

var (
	x, bias, mask = formula.In("x"), formula.In("bias"), formula.In("mask")
	residual, dy  = formula.In("residual"), formula.In("grad_y")
)

// forward: T = u32*(2*|(x+bias)*mask*scale| + |R|).
func forward(attributes op.Attrs) elementwise.Formula {
	scale := attributes.Number("scale")
	form := x.Plus(bias).Times(mask).Scaled(scale).Plus(residual)
	return elementwise.Formula{
		Forms: []*formula.Node{form},
		ErrorBound: func(in []float64, r float64) float64 {
			return elementwise.Rounded(2, (in[0]+in[1])*in[2]*scale) + elementwise.Rounded(1, r)
		},
	}
}

// branch returns the gradient of the masked and scaled input: T = u32*|R|.
func branch(attributes op.Attrs) elementwise.Formula {
	scale := attributes.Number("scale")
	f := elementwise.Formula{Forms: []*formula.Node{dy.Times(mask.Scaled(scale))}}
	if scale != 1 {
		f.ErrorBound = func(_ []float64, r float64) float64 { return elementwise.Rounded(1, r) }
	}
	return f
}

var _ = elementwise.Register("bias_mask_scale_add", elementwise.Operator{
	Forward: []elementwise.Output{{Name: "y", Of: forward}},
	Backward: []elementwise.Output{
		{Name: "grad_x", Of: branch},
		{Name: "grad_bias", Of: branch, Columns: true},
		{Name: "grad_residual", Formula: elementwise.Formula{Forms: []*formula.Node{dy}}},
	},
	Permits: []string{"fp32", "eager"}, ByRows: []string{"rows"},
	Holds: []elementwise.Property{elementwise.Linear("x", "bias", "residual")},
})
