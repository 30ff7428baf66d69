package catalog

import "math/cmplx"

var _ = registerLosses("swiglu", func(k *call) ([]loss, error) {
	in, err := k.values("gate", "up", "grad_y")
	if err != nil {
		return nil, err
	}
	return partial([]string{"gate", "up"}, in[:2], func(z [][]complex128) complex128 {
		total := complex128(0)
		for i, gate := range z[0] {
			total += gate / (1 + cmplx.Exp(-gate)) * z[1][i] * complex(in[2][i], 0)
		}
		return total
	}), nil
})
