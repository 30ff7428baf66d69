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
	n, nV, scale := k.Dims.Get("head_dim"), k.Dims.Get("head_dim_v"), complex(k.Attrs.Number("scale"), 0)
	return truth.Partial(differentiable, in[:5], func(z [][]complex128) complex128 {
		total := complex128(0)
		for row := range p.batch * p.tokens * p.heads {
			for branch := range branches {
				var scores, values []complex128
				for j := range p.tokens {
					if !p.sees(row, j, branch) {
						continue
					}
					b, _, h, _ := p.row(row)
					at := (b*p.tokens+j)*p.headsKV + h
					score, value := complex128(0), complex128(0)
					for c := range n {
						score += z[0][row*n+c] * z[1][at*n+c] * scale
					}
					for c := range nV {
						value += z[2][at*nV+c] * complex(in[6][row*nV+c], 0)
					}
					scores, values = append(scores, score), append(values, value)
				}
				m := truth.LargestReal(scores)
				sum, dot := complex128(0), complex128(0)
				for i, s := range scores {
					w := cmplx.Exp(s - m)
					sum += w
					dot += w * values[i]
				}
				if len(scores) > 0 {
					total += z[3+branch][row] * dot / sum
				}
			}
		}
		return total
	}), nil
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
