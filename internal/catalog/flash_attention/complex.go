package flashattention

import (
	"math/cmplx"

	"triad/internal/truth"
)

var _ = truth.RegisterLosses("flash_attention", func(k *truth.Request) ([]truth.Loss, error) {
	in, err := k.Values("q", "k", "v", "grad_o")
	if err != nil {
		return nil, err
	}
	q, err := k.Rank("q", 4)
	if err != nil {
		return nil, err
	}
	key, err := k.Rank("k", 4)
	if err != nil {
		return nil, err
	}
	v, err := k.Rank("v", 4)
	if err != nil {
		return nil, err
	}
	a := plainAttention{
		heads: int(q.Shape[1]), group: int(q.Shape[1] / key.Shape[1]), seqQ: int(q.Shape[2]),
		seqKV: int(key.Shape[2]), dim: int(q.Shape[3]), dimV: int(v.Shape[3]),
		scale: complex(k.Attrs.Number("scale"), 0), causal: k.Attrs.Number("causal") != 0,
	}
	return truth.Partial([]string{"q", "k", "v"}, in[:3], func(z [][]complex128) complex128 {
		total := complex128(0)
		for row := 0; row*a.dim < len(z[0]); row++ {
			total += a.row(z[0], z[1], z[2], in[3], row)
		}
		return total
	}), nil
})

// plainAttention is attention by its definition: the scores of one query, their softmax, the weighted sum of
// the values.
type plainAttention struct {
	heads, group, seqQ, seqKV, dim, dimV int
	scale                                complex128
	causal                               bool
}

// row returns the sum of grad_o times o over one query; row counts queries over batch and heads. A query that
// sees no key adds nothing.
func (a plainAttention) row(q, k, v []complex128, do []float64, row int) complex128 {
	head, i := row/a.seqQ, row%a.seqQ
	visible := a.seqKV
	if a.causal {
		visible = max(0, min(a.seqKV, i+a.seqKV-a.seqQ+1))
	}
	kv := (head/a.heads*(a.heads/a.group) + head%a.heads/a.group) * a.seqKV
	scores, values := make([]complex128, visible), make([]complex128, visible)
	for j := range visible {
		for e := range a.dim {
			at, of := row*a.dim+e, (kv+j)*a.dim+e
			scores[j] += q[at] * k[of] * a.scale
		}
		for e := range a.dimV {
			values[j] += v[(kv+j)*a.dimV+e] * complex(do[row*a.dimV+e], 0)
		}
	}
	m := truth.LargestReal(scores)
	sum, dot := complex128(0), complex128(0)
	for j, s := range scores {
		w := cmplx.Exp(s - m)
		sum += w
		dot += w * values[j]
	}
	if visible == 0 {
		return 0
	}
	return dot / sum
}
