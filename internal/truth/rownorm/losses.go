package rownorm

import (
	"math/cmplx"
	"slices"

	"triad/internal/truth"
)

// losses returns the forward over complex numbers, row by row, with no code of the closed forms: the complex
// step proves the gradients with it.
func (o Operator) losses(k *truth.Request) ([]truth.Loss, error) {
	names := append(o.Rows(k.Case), o.Parameters()...)
	in, err := k.Values(names...)
	if err != nil {
		return nil, err
	}
	upstream, err := k.Values(o.Upstream(k.Case)...)
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
	all := truth.Partial(names, in, func(z [][]complex128) complex128 {
		total := complex128(0)
		s := slices.Clone(z[0])
		if len(upstream) == 2 {
			for i, v := range z[1] {
				s[i] += v
				total += s[i] * complex(upstream[1][i], 0)
			}
		}
		weight, bias := z[len(o.Rows(k.Case))], z[len(z)-1]
		for r := range rows {
			for c, v := range o.complexRow(s[r*cols:(r+1)*cols], eps) {
				v *= weight[c]
				if o.Bias {
					v += bias[c]
				}
				total += v * complex(upstream[0][r*cols+c], 0)
			}
		}
		return total
	})
	if o.Residual && !o.Adds(k.Case) {
		all = append(all, truth.Partial([]string{"residual"}, [][]float64{{}},
			func([][]complex128) complex128 { return 0 })...)
	}
	return all, nil
}

// complexRow returns one normalised row.
func (o Operator) complexRow(row []complex128, eps float64) []complex128 {
	n := complex(float64(len(row)), 0)
	mean, variance := complex128(0), complex128(0)
	if o.Centred {
		for _, v := range row {
			mean += v
		}
		mean /= n
	}
	for _, v := range row {
		variance += (v - mean) * (v - mean)
	}
	deviation := cmplx.Sqrt(variance/n + complex(eps, 0))
	out := make([]complex128, len(row))
	for c, v := range row {
		out[c] = (v - mean) / deviation
	}
	return out
}
