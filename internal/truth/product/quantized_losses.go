package product

import (
	"triad/internal/op"
	"triad/internal/truth"
)

// QuantizedLosses returns a function that proves the gradients of a b^T whose backward multiplies quantised
// operands, for truth.RegisterLosses. The product is linear in each operand, so that its derivative is the
// same everywhere; the other operand and the upstream gradient are those that the backward's own operands
// represent. The backward's first product gives the gradient of a, its second that of b; the upstream
// gradient is the first operand of both.
func (o Operator) QuantizedLosses(a, b string) func(*truth.Request) ([]truth.Loss, error) {
	return func(k *truth.Request) ([]truth.Loss, error) {
		if o.Operands != nil {
			made := *k
			var err error
			if made.In, err = o.Operands(k); err != nil {
				return nil, err
			}
			k = &made
		}
		var read [4][][]float64
		products := o.Products(op.Backward, k.Attrs)
		for i, f := range []Factor{products[0].A, products[0].B, products[1].A, products[1].B} {
			var err error
			if read[i], err = Dequantized(k, o.Scaling, f); err != nil {
				return nil, err
			}
		}
		g, bt, gt, at := read[0], read[1], read[2], read[3]
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
		all := truth.Partial([]string{a}, [][]float64{make([]float64, m*inner)},
			func(z [][]complex128) complex128 {
				return loss(flat(z[0]), func(j, k int) complex128 { return complex(bt[k][j], 0) },
					func(i, j int) float64 { return g[i][j] })
			})
		return append(all, truth.Partial([]string{b}, [][]float64{make([]float64, n*inner)},
			func(z [][]complex128) complex128 {
				return loss(func(i, k int) complex128 { return complex(at[k][i], 0) }, flat(z[0]),
					func(i, j int) float64 { return gt[j][i] })
			})...), nil
	}
}
