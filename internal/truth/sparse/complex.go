package sparse

import (
	"math/cmplx"

	"triad/internal/truth"
)

// SelectedLosses returns the complex forward of attention over selected blocks and a window.
func SelectedLosses(k *truth.Request) ([]truth.Loss, error) {
	differentiable := []string{"q", "k", "v", "g_slc", "g_swa"}
	in, err := k.Values(append(differentiable, "indices", "grad_o")...)
	if err != nil {
		return nil, err
	}
	p := placesOf(k.Case, in[5])
	a := plain{
		n: k.Dims.Get("head_dim"), nV: k.Dims.Get("head_dim_v"), scale: k.Attrs.Number("scale"), do: in[6],
	}
	return truth.Partial(differentiable, in[:5], func(z [][]complex128) complex128 {
		total := complex128(0)
		for row := range p.batch * p.tokens * p.heads {
			b, _, h, _ := p.row(row)
			for branch := range branches {
				var keys []int64
				for j := range p.tokens {
					if p.sees(row, j, branch) {
						keys = append(keys, (b*p.tokens+j)*p.headsKV+h)
					}
				}
				total += z[3+branch][row] * a.mean(z, row, keys)
			}
		}
		return total
	}), nil
}

// plain is attention over some keys by its definition: q, k and v are the first three of the arguments, by
// rows of n and nV elements.
type plain struct {
	n, nV int64
	scale float64
	do    []float64 // grad_o
}

// mean returns the sum of grad_o times softmax(scale * q k^T) v of a row of q over some rows of k and v; 0
// over none.
func (a plain) mean(z [][]complex128, row int64, keys []int64) complex128 {
	scores, values := make([]complex128, len(keys)), make([]complex128, len(keys))
	for i, at := range keys {
		for c := range a.n {
			scores[i] += z[0][row*a.n+c] * z[1][at*a.n+c] * complex(a.scale, 0)
		}
		for c := range a.nV {
			values[i] += z[2][at*a.nV+c] * complex(a.do[row*a.nV+c], 0)
		}
	}
	if len(keys) == 0 {
		return 0
	}
	m := truth.LargestReal(scores)
	sum, dot := complex128(0), complex128(0)
	for i, s := range scores {
		w := cmplx.Exp(s - m)
		sum += w
		dot += w * values[i]
	}
	return dot / sum
}

// sees is the definition of what a row sees, key by key.
func (p places) sees(row, j int64, branch int) bool {
	_, t, _, at := p.row(row)
	if j > t {
		return false
	}
	if branch == 1 {
		return t-j < p.window
	}
	for _, block := range p.indices[at*p.blocks:][:p.blocks] {
		if block == float64(j/p.size) {
			return true
		}
	}
	return false
}
