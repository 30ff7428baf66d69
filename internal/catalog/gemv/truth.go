// Package gemv is the truth of y = a x.
package gemv

import (
	"triad/internal/op"
	"triad/internal/truth/product"
)

var _ = product.Register("gemv", product.Operator{
	Forward: func(op.Attrs) []product.Product {
		a, x := product.Factor{Tensor: "a"}, product.Factor{Tensor: "x"}
		return []product.Product{{Output: "y", A: a, B: x}}
	},
	Permits: []string{"fp32"},
})
