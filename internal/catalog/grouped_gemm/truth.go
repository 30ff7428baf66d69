// Package groupedgemm is the truth of the products of groups of rows, each with a matrix of its own.
package groupedgemm

import (
	"triad/internal/op"
	"triad/internal/truth/product"
)

var _ = product.Register("grouped_gemm", product.Operator{
	Forward: forward, Backward: backward, Permits: []string{"fp32"}, Upstream: []string{"grad_y"},
})

func forward(op.Attrs) []product.Product {
	return []product.Product{{
		Output: "y", A: product.Factor{Tensor: "x"}, B: product.Factor{Tensor: "w", Transposed: true},
		Groups: "offsets",
	}}
}

// backward: of each group grad_x = grad_y w^T, grad_w = x^T grad_y, a sum over the group's rows.
func backward(op.Attrs) []product.Product {
	return []product.Product{
		{
			Output: "grad_x", A: product.Factor{Tensor: "grad_y"}, B: product.Factor{Tensor: "w"},
			Groups: "offsets",
		},
		{
			Output: "grad_w", A: product.Factor{Tensor: "x", Transposed: true},
			B: product.Factor{Tensor: "grad_y", Transposed: true}, Groups: "offsets",
		},
	}
}
