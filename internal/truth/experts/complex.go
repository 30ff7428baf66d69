package experts

import (
	"math/cmplx"

	"triad/internal/truth"
)

// losses returns the layer in complex numbers, from which the tests take derivatives, under the choice of the
// real one.
func losses(k *truth.Request) ([]truth.Loss, error) {
	l, err := layerOf(k)
	in, missing := k.Values("x", "router", "gate", "up", "down", "grad_y")
	if err = truth.FirstError(err, missing); err != nil {
		return nil, err
	}
	choice := l.choice(k, nil).R
	names := []string{"x", "router", "gate", "up", "down"}
	return truth.Partial(names, in[:5], func(z [][]complex128) complex128 {
		total := complex128(0)
		for t := range l.tokens {
			total += l.lossOf(t, choice[t*int64(l.top):(t+1)*int64(l.top)], z, in[5][t*l.dim:])
		}
		return total
	}), nil
}

// lossOf returns the sum of a token's outputs times dy.
func (l *layer) lossOf(t int64, own []float64, z [][]complex128, dy []float64) complex128 {
	x, p, scale := z[0][t*l.dim:(t+1)*l.dim], make([]complex128, l.experts), complex128(0)
	for e := range p {
		for c, v := range x {
			p[e] += v * z[1][int64(e)*l.dim+int64(c)]
		}
	}
	largest := truth.LargestReal(p)
	for e := range p {
		p[e] = cmplx.Exp(p[e] - largest)
		scale += p[e]
	}
	if l.normalise {
		scale = 0
		for _, e := range own {
			scale += p[int(e)]
		}
	}
	total := complex128(0)
	for _, e := range own {
		total += p[int(e)] / scale * l.expert(int64(e), x, z, dy)
	}
	return total
}

// expert returns dy times the output of one expert.
func (l *layer) expert(e int64, x []complex128, z [][]complex128, dy []float64) complex128 {
	total := complex128(0)
	for j := range l.hidden {
		var g, u, q complex128
		for c := range l.dim {
			at := (e*l.dim+c)*l.hidden + j
			g += x[c] * z[2][at]
			u += x[c] * z[3][at]
			q += complex(dy[c], 0) * z[4][(e*l.hidden+j)*l.dim+c]
		}
		total += g / (1 + cmplx.Exp(-g)) * u * q
	}
	return total
}
