// Package sum is the truth of y = x[0] + ... + x[n-1].
package sum

import (
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
	"triad/internal/truth/reduction"
)

var (
	x  = elementwise.Formula{Forms: []*formula.Node{formula.In("x")}}
	dy = elementwise.Formula{Forms: []*formula.Node{formula.In("grad_y")}}
)

var _ = reduction.Register("sum", reduction.Operator{
	Output:   "y",
	Term:     x,
	Backward: []elementwise.Output{{Name: "grad_x", Formula: dy}},
	Permits:  []string{"fp32"},
	Linear:   []string{"x"},
})
