// Package fp8gemm is the truth of fp8_gemm: the product of two fp8 matrices with scales.
package fp8gemm

import (
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/product"
)

// scaleBlock is the edge of a block that shares a scale: 1x128 of the first operand, 128x128 of the second.
const scaleBlock = 128

var operator = product.Operator{
	Forward: func(op.Attrs) []product.Product {
		return []product.Product{
			{Output: "c", A: firstOperand("a", "scale_a"), B: secondOperand("b", "scale_b")},
		}
	},
	// two products of operands that are already quantised in the layout they are needed in
	Backward: func(op.Attrs) []product.Product {
		return []product.Product{
			{Output: "grad_a", A: firstOperand("g", "scale_g"), B: secondOperand("bt", "scale_bt")},
			{Output: "grad_b", A: firstOperand("gt", "scale_gt"), B: secondOperand("at", "scale_at")},
		}
	},
	Permits:  []string{"promoted", "fast"},
	Scaling:  product.Scaling{Block: scaleBlock},
	Upstream: []string{"g", "gt"},
}

var _ = product.Register("fp8_gemm", operator)

var _ = truth.RegisterLosses("fp8_gemm", operator.QuantizedLosses("a", "b"))

func firstOperand(name, scale string) product.Factor {
	return product.Factor{Tensor: name, Scale: scale, SharedRows: 1}
}

func secondOperand(name, scale string) product.Factor {
	return product.Factor{Tensor: name, Scale: scale, SharedRows: scaleBlock}
}
