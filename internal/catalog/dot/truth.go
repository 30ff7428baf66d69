// Package dot is the truth of y = a[0]*b[0] + ... + a[n-1]*b[n-1].
package dot

import (
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
	"triad/internal/truth/reduction"
)

var a, b, dy = formula.In("a"), formula.In("b"), formula.In("grad_y")

func product(x, y *formula.Node) elementwise.Formula {
	return elementwise.Formula{Forms: []*formula.Node{x.Times(y)}}
}

var _ = reduction.Register("dot", reduction.Operator{
	Output: "y",
	Term:   product(a, b),
	Backward: []elementwise.Output{
		{Name: "grad_a", Formula: product(dy, b)}, {Name: "grad_b", Formula: product(dy, a)},
	},
	Permits: []string{"fp32"},
	Linear:  []string{"a"},
})
