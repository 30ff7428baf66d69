// Package leaky_relu is the truth of y = x > 0 ? x : slope * x.
package leaky_relu

import (
	"triad/internal/op"
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
)

var x, dy, zero = formula.In("x"), formula.In("grad_y"), formula.C(0)

// sloped returns a value where x is positive, and slope times it elsewhere.
func sloped(value *formula.Node) func(attributes op.Attrs) elementwise.Formula {
	return func(attributes op.Attrs) elementwise.Formula {
		slope := formula.C(attributes.Number("slope"))
		return elementwise.Formula{Forms: []*formula.Node{x.Above(zero, value, slope.Times(value))}}
	}
}

var _ = elementwise.Register("leaky_relu", elementwise.Operator{
	Forward:  []elementwise.Output{{Name: "y", Of: sloped(x)}},
	Backward: []elementwise.Output{{Name: "grad_x", Of: sloped(dy)}},
	Permits:  []string{"fp32"}, ByRows: []string{"n"},
	Holds: []elementwise.Property{elementwise.Linear("x")},
})
