// Package mse is the truth of y = ((x[0]-t[0])^2 + ... + (x[n-1]-t[n-1])^2) / n.
package mse

import (
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
	"triad/internal/truth/reduction"
)

var off = formula.In("x").Minus(formula.In("t"))

var _ = reduction.Register("mse", reduction.Operator{
	Output:  "y",
	Mean:    true,
	Term:    elementwise.Formula{Forms: []*formula.Node{off.Times(off)}},
	Permits: []string{"fp32"}, Commutes: true,
})
