package product

import (
	"math/cmplx"
	"slices"

	"triad/internal/truth"
)

// Losses returns the sum of w*(lse - z) over the rows, of a class each, in complex numbers. of returns w and
// the class of a row, and whether it is left out. The losses depend on both operands, for the proof of the
// gradients.
func (l *Logits) Losses(of func(i int) (w float64, class int, left bool)) []truth.Loss {
	in := [][]float64{slices.Concat(l.x...), slices.Concat(l.w...)}
	return truth.Partial([]string{l.hidden, l.weight}, in, func(v [][]complex128) complex128 {
		total, z := complex128(0), make([]complex128, l.Classes)
		for i := range l.x {
			w, class, left := of(i)
			if left {
				continue
			}
			for j := range z {
				z[j] = 0
				for d := range l.dim {
					z[j] += v[0][i*l.dim+d] * v[1][j*l.dim+d]
				}
			}
			m, sum := truth.LargestReal(z), complex128(0)
			for _, logit := range z {
				sum += cmplx.Exp(logit - m)
			}
			total += complex(w, 0) * (cmplx.Log(sum) + m - z[class])
		}
		return total
	})
}
