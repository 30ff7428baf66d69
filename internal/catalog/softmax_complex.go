package catalog

import "math/cmplx"

var _ = registerLosses("softmax", func(k *call) ([]loss, error) {
	in, err := k.values("x", "grad_y")
	if err != nil {
		return nil, err
	}
	x, err := k.rank("x", 2)
	if err != nil {
		return nil, err
	}
	rows, cols := int(x.Shape[0]), int(x.Shape[1])
	return partial([]string{"x"}, in[:1], func(z [][]complex128) complex128 {
		total := complex128(0)
		for r := range rows {
			total += softmaxDot(z[0][r*cols:(r+1)*cols], in[1][r*cols:(r+1)*cols])
		}
		return total
	}), nil
})

// softmaxDot is the sum of w times the softmax of x. What is subtracted from x is a constant: it changes nothing but the range.
func softmaxDot(x []complex128, w []float64) complex128 {
	m := largestReal(x)
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

// largestReal is the largest real part, as a constant.
func largestReal(x []complex128) complex128 {
	m := 0.0
	for i, v := range x {
		if i == 0 || real(v) > m {
			m = real(v)
		}
	}
	return complex(m, 0)
}
