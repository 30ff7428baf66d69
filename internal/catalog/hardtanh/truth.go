// Package hardtanh is the truth of y = x <= low ? low : x >= high ? high : x.
package hardtanh

import (
	"triad/internal/op"
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
)

var x, dy, zero = formula.In("x"), formula.In("grad_y"), formula.C(0)

func low(attributes op.Attrs) *formula.Node  { return formula.C(attributes.Number("low")) }
func high(attributes op.Attrs) *formula.Node { return formula.C(attributes.Number("high")) }

func held(attributes op.Attrs) elementwise.Formula {
	low, high := low(attributes), high(attributes)
	return elementwise.Formula{Forms: []*formula.Node{x.AtMost(low, low, high.AtMost(x, high, x))}}
}

func inside(attributes op.Attrs) elementwise.Formula {
	return elementwise.Formula{Forms: []*formula.Node{
		x.AtMost(low(attributes), zero, high(attributes).AtMost(x, zero, dy)),
	}}
}

var _ = elementwise.Register("hardtanh", elementwise.Operator{
	Forward:  []elementwise.Output{{Name: "y", Of: held}},
	Backward: []elementwise.Output{{Name: "grad_x", Of: inside}},
	Permits:  []string{"fp32"}, ByRows: []string{"n"},
	Holds: []elementwise.Property{elementwise.Again("x")},
})
