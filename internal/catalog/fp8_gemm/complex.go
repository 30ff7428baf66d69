package fp8gemm

import (
	"triad/internal/truth"
	"triad/internal/truth/product"
)

// The product is linear in each operand, so that its derivative is the same everywhere; the other operand and
// the upstream gradient are those that the backward's own quantised copies represent: grad_a is the
// derivative of <g, a b^T> with b from bt, grad_b that with a from at and the upstream gradient from gt.
var _ = truth.RegisterLosses("fp8_gemm", func(k *truth.Request) ([]truth.Loss, error) {
	g, err := product.Dequantized(k, operator.Scaling, firstOperand("g", "scale_g"))
	if err != nil {
		return nil, err
	}
	bt, err := product.Dequantized(k, operator.Scaling, secondOperand("bt", "scale_bt"))
	if err != nil {
		return nil, err
	}
	gt, err := product.Dequantized(k, operator.Scaling, firstOperand("gt", "scale_gt"))
	if err != nil {
		return nil, err
	}
	at, err := product.Dequantized(k, operator.Scaling, secondOperand("at", "scale_at"))
	if err != nil {
		return nil, err
	}
	m, n, inner := len(g), len(gt), len(bt)
	// c = a b^T with the weight of c[i,j] from upstream; the varying operand is flat.
	loss := func(a, b func(row, k int) complex128, upstream func(i, j int) float64) complex128 {
		total := complex128(0)
		for i := range m {
			for j := range n {
				c := complex128(0)
				for k := range inner {
					c += a(i, k) * b(j, k)
				}
				total += c * complex(upstream(i, j), 0)
			}
		}
		return total
	}
	flat := func(z []complex128) func(row, k int) complex128 {
		return func(row, k int) complex128 { return z[row*inner+k] }
	}
	all := truth.Partial([]string{"a"}, [][]float64{make([]float64, m*inner)},
		func(z [][]complex128) complex128 {
			return loss(flat(z[0]),
				func(j, k int) complex128 { return complex(bt[k][j], 0) },
				func(i, j int) float64 { return g[i][j] })
		})
	return append(all, truth.Partial([]string{"b"}, [][]float64{make([]float64, n*inner)},
		func(z [][]complex128) complex128 {
			return loss(func(i, k int) complex128 { return complex(at[k][i], 0) }, flat(z[0]),
				func(i, j int) float64 { return gt[j][i] })
		})...), nil
})
