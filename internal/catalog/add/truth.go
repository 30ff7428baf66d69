// Package add is the truth of z = x + y.
package add

import (
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
)

var (
	sum    = elementwise.Formula{Forms: []*formula.Node{formula.In("x").Plus(formula.In("y"))}}
	copied = elementwise.Formula{Forms: []*formula.Node{formula.In("grad_z")}}
)

var _ = elementwise.Register("add", elementwise.Operator{
	Forward:  []elementwise.Output{{Name: "z", Formula: sum}},
	Backward: []elementwise.Output{{Name: "grad_x", Formula: copied}, {Name: "grad_y", Formula: copied}},
	Permits:  []string{"fp32"},
	ByRows:   []string{"rows"},
	Holds:    []elementwise.Property{elementwise.Linear("x", "y"), elementwise.Commutes("x", "y")},
})
