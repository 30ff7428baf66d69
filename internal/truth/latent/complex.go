package latent

import (
	"math/cmplx"

	"triad/internal/truth"
)

// LossesOfWhole returns the complex forward of attention whose latent rows are all there.
func LossesOfWhole(k *truth.Request) ([]truth.Loss, error) {
	in, err := k.Values("q", "kv", "grad_o")
	if err != nil {
		return nil, err
	}
	q, err := k.Rank("q", 4)
	if err != nil {
		return nil, err
	}
	a := plain{
		queries: int(q.Shape[1]), heads: int(q.Shape[2]), keys: int(k.Dims.Get("seq_kv")), n: int(q.Shape[3]),
		nV: int(k.Attrs.Number("head_dim_v")), scale: complex(k.Attrs.Number("scale"), 0),
		causal: k.Attrs.Number("causal") != 0,
	}
	return truth.Partial([]string{"q", "kv"}, in[:2], func(z [][]complex128) complex128 {
		total := complex128(0)
		for row := 0; row*a.n < len(z[0]); row++ {
			total += a.row(z[0][row*a.n:][:a.n], z[1], in[2][row*a.nV:][:a.nV], row)
		}
		return total
	}), nil
}

// plain is attention over latent rows by its definition.
type plain struct {
	queries, heads, keys, n, nV int
	scale                       complex128
	causal                      bool
}

// row returns the sum of grad_o times o of one query and head; row counts them over the batch. A query that
// sees no key adds nothing.
func (a plain) row(q, kv []complex128, do []float64, row int) complex128 {
	b, i, seen := row/a.heads/a.queries, row/a.heads%a.queries, a.keys
	if a.causal {
		seen = max(0, min(a.keys, i+1+a.keys-a.queries))
	}
	scores, values := make([]complex128, seen), make([]complex128, seen)
	for j := range seen {
		latent := kv[(b*a.keys+j)*a.n:][:a.n]
		for c, x := range latent {
			scores[j] += q[c] * x * a.scale
		}
		for c, g := range do {
			values[j] += latent[c] * complex(g, 0)
		}
	}
	m := truth.LargestReal(scores)
	sum, dot := complex128(0), complex128(0)
	for j, s := range scores {
		w := cmplx.Exp(s - m)
		sum += w
		dot += w * values[j]
	}
	if seen == 0 {
		return 0
	}
	return dot / sum
}
