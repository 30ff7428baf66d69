package dropout

import "triad/internal/truth"

// The forward in complex numbers: the complex step proves the truth of the gradients with it.
var _ = truth.RegisterLosses("dropout", func(k *truth.Request) ([]truth.Loss, error) {
	in, err := k.Values("x", "grad_y")
	if err != nil {
		return nil, err
	}
	r := ruleOf(k.Attrs)
	return truth.Partial([]string{"x"}, in[:1], func(z [][]complex128) complex128 {
		total := complex128(0)
		r.keep(0, len(z[0]), func(i int) { total += z[0][i] * complex(r.factor*in[1][i], 0) })
		return total
	}), nil
})
