// Package groupedfp8gemm is the truth of the products of groups of fp8 rows, each with an fp8 matrix of its
// own, both with scales of blocks.
package groupedfp8gemm

import (
	"triad/internal/op"
	"triad/internal/truth/product"
)

// scaleBlock is the edge of a block that shares a scale: 1x128 of the rows, 128x128 of the matrices.
const scaleBlock = 128

var _ = product.Register("grouped_fp8_gemm", product.Operator{
	Forward: func(op.Attrs) []product.Product {
		return []product.Product{{
			Output: "y", A: product.Factor{Tensor: "x", Scale: "scale_x", SharedRows: 1},
			B: product.Factor{Tensor: "w", Scale: "scale_w", SharedRows: scaleBlock}, Groups: "offsets",
		}}
	},
	Permits: []string{"promoted", "fast"},
	Scaling: product.Scaling{Block: scaleBlock},
})
