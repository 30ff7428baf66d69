// Package gemm is the truth of y = alpha * a b + beta * c, for every matrix of a batch.
package gemm

import (
	"triad/internal/op"
	"triad/internal/truth/product"
)

var _ = product.Register("gemm", product.Operator{
	Forward: forward, Backward: backward, Permits: []string{"fp32", "tf32"}, Upstream: []string{"grad_y"},
})

func forward(attributes op.Attrs) []product.Product {
	epilogue := scaled(attributes)
	epilogue.Beta, epilogue.Added = attributes.Number("beta"), "c"
	return []product.Product{{
		Output: "y", A: product.Factor{Tensor: "a"},
		B: product.Factor{Tensor: "b", Transposed: !byColumns(attributes)}, Epilogue: epilogue,
	}}
}

// backward: grad_a = alpha grad_y b^T, grad_b = alpha a^T grad_y, or where b lies as [n, k] its transpose.
func backward(attributes op.Attrs) []product.Product {
	ofA := product.Product{
		Output: "grad_a", A: product.Factor{Tensor: "grad_y"},
		B: product.Factor{Tensor: "b", Transposed: byColumns(attributes)}, Epilogue: scaled(attributes),
	}
	a, dy := product.Factor{Tensor: "a", Transposed: true}, product.Factor{Tensor: "grad_y", Transposed: true}
	ofB := product.Product{Output: "grad_b", A: a, B: dy, Epilogue: scaled(attributes)}
	if byColumns(attributes) {
		ofB.A, ofB.B = dy, a
	}
	return []product.Product{ofA, ofB}
}

// byColumns reports whether b is laid out as [n, k]: each column of the product is a row of it.
func byColumns(attributes op.Attrs) bool { return attributes.Text("layout_b") == "nk" }

func scaled(attributes op.Attrs) product.Epilogue {
	return product.Epilogue{Scaled: true, Alpha: attributes.Number("alpha")}
}
