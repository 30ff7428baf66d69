// Package relu is the truth of y = x <= 0 ? 0 : x.
package relu

import (
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
)

var x, dy, zero = formula.In("x"), formula.In("grad_y"), formula.C(0)

func positive(of *formula.Node) elementwise.Formula {
	return elementwise.Formula{Forms: []*formula.Node{x.AtMost(zero, zero, of)}}
}

var _ = elementwise.Register("relu", elementwise.Operator{
	Forward:  []elementwise.Output{{Name: "y", Formula: positive(x)}},
	Backward: []elementwise.Output{{Name: "grad_x", Formula: positive(dy)}},
	Permits:  []string{"fp32"}, ByRows: []string{"n"},
	Holds: []elementwise.Property{elementwise.Linear("x"), elementwise.BetweenZeroAnd("x")},
})
