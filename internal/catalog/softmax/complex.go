package softmax

import (
	"math/cmplx"

	"triad/internal/truth"
)

var _ = truth.RegisterLosses("softmax", func(k *truth.Request) ([]truth.Loss, error) {
	in, err := k.Values("x", "grad_y")
	if err != nil {
		return nil, err
	}
	x, err := k.Rank("x", 2)
	if err != nil {
		return nil, err
	}
	rows, cols := int(x.Shape[0]), int(x.Shape[1])
	return truth.Partial([]string{"x"}, in[:1], func(z [][]complex128) complex128 {
		total := complex128(0)
		for r := range rows {
			total += weightedDot(z[0][r*cols:(r+1)*cols], in[1][r*cols:(r+1)*cols])
		}
		return total
	}), nil
})

// weightedDot returns the sum of w times the softmax of x. The value subtracted from x is a constant: it
// changes only the range.
func weightedDot(x []complex128, w []float64) complex128 {
	m := truth.LargestReal(x)
	sum, dot := complex128(0), complex128(0)
	for i, v := range x {
		e := cmplx.Exp(v - m)
		sum += e
		dot += e * complex(w[i], 0)
	}
	if len(x) == 0 {
		return 0
	}
	return dot / sum
}
