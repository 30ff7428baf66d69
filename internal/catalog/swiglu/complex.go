package swiglu

import (
	"math/cmplx"

	"triad/internal/truth"
)

var _ = truth.RegisterLosses("swiglu", func(k *truth.Request) ([]truth.Loss, error) {
	in, err := k.Values("gate", "up", "grad_y")
	if err != nil {
		return nil, err
	}
	return truth.Partial([]string{"gate", "up"}, in[:2], func(z [][]complex128) complex128 {
		total := complex128(0)
		for i, gate := range z[0] {
			total += gate / (1 + cmplx.Exp(-gate)) * z[1][i] * complex(in[2][i], 0)
		}
		return total
	}), nil
})
