package layernorm

import (
	"math/cmplx"

	"triad/internal/truth"
)

var _ = truth.RegisterLosses("layernorm", func(k *truth.Request) ([]truth.Loss, error) {
	in, err := k.Values("x", "weight", "bias", "grad_y")
	if err != nil {
		return nil, err
	}
	x, err := k.Rank("x", 2)
	if err != nil {
		return nil, err
	}
	eps, err := truth.EpsOf(k)
	if err != nil {
		return nil, err
	}
	rows, cols := int(x.Shape[0]), int(x.Shape[1])
	n := complex(float64(cols), 0)
	return truth.Partial([]string{"x", "weight", "bias"}, in[:3], func(z [][]complex128) complex128 {
		total := complex128(0)
		for r := range rows {
			row, dy := z[0][r*cols:(r+1)*cols], in[3][r*cols:(r+1)*cols]
			mean, variance := complex128(0), complex128(0)
			for _, v := range row {
				mean += v
			}
			mean /= n
			for _, v := range row {
				variance += (v - mean) * (v - mean)
			}
			deviation := cmplx.Sqrt(variance/n + complex(eps, 0))
			for c, v := range row {
				total += ((v-mean)/deviation*z[1][c] + z[2][c]) * complex(dy[c], 0)
			}
		}
		return total
	}), nil
})
