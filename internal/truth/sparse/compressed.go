package sparse

import (
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/attention"
)

// byHeads returns the request of attention over blocks of block_size tokens, each with one key and one value:
// q[batch, tokens, heads, n], k[batch, blocks, headsKV, n], v[batch, blocks, headsKV, nV], o and grad_o as q
// and lse[batch, tokens, heads], by heads first. A query sees the blocks that end before the token after its
// own: never the last one, where that is not whole. Nothing is copied.
func byHeads(k *truth.Request) (*truth.Request, error) {
	batch, tokens, heads := k.Dims.Get("batch"), k.Dims.Get("seq"), k.Dims.Get("heads")
	size := int64(k.Attrs.Number("block_size"))
	blocks, headsKV := (tokens+size-1)/size, k.Dims.Get("heads_kv")
	n, nV := k.Dims.Get("head_dim"), k.Dims.Get("head_dim_v")
	err := truth.FirstError(k.Shaped("q", batch, tokens, heads, n), k.Shaped("k", batch, blocks, headsKV, n),
		k.Shaped("v", batch, blocks, headsKV, nV))
	if err != nil {
		return nil, err
	}
	r := *k
	r.In = make([]tensor.Tensor, len(k.In))
	for i, t := range k.In {
		r.In[i] = attention.ByHeads(t)
	}
	return &r, nil
}

// byToken orders outputs by tokens first. The first queries see one block: in each head the rounding error of
// a single weight decides their rows (G4).
func byToken(k *truth.Request, out []judge.Target) []judge.Target {
	for i, t := range out {
		out[i] = attention.ByToken(t)
		out[i].Errors = float64(k.Dims.Get("heads"))
	}
	return out
}

// Compressed returns the truth of o [batch, tokens, heads, nV] and lse [batch, tokens, heads]: those of
// attention whose keys stand for blocks. Before the first block ends o is 0 and lse -inf, or 0 where
// empty_lse says so, exactly.
func Compressed(k *truth.Request) ([]judge.Target, error) {
	r, err := byHeads(k)
	if err != nil {
		return nil, err
	}
	out, err := attention.Forward(r)
	if err != nil {
		return nil, err
	}
	byToken(k, out)
	lse, zero := out[1], k.Attrs.Text("empty_lse") == "zero"
	for i := range lse.R {
		t := truth.PlaceOf(lse.Index, int64(i)) / k.Dims.Get("heads") % k.Dims.Get("seq")
		if zero && t+1 < int64(k.Attrs.Number("block_size")) {
			lse.R[i], lse.Sim[i] = 0, 0
		}
	}
	return out, nil
}

// CompressedGradients returns the truth of grad_q, grad_k and grad_v, the last two of the blocks' keys and
// values.
func CompressedGradients(k *truth.Request) ([]judge.Target, error) {
	r, err := byHeads(k)
	if err != nil {
		return nil, err
	}
	out, err := attention.Backward(r)
	return byToken(k, out), err
}

// CompressedLosses returns the complex forward of attention over blocks.
func CompressedLosses(k *truth.Request) ([]truth.Loss, error) {
	differentiable := []string{"q", "k", "v"}
	in, err := k.Values(append(slices.Clone(differentiable), "grad_o")...)
	if err != nil {
		return nil, err
	}
	p := placesOf(k.Case, nil)
	a := plain{
		n: k.Dims.Get("head_dim"), nV: k.Dims.Get("head_dim_v"), scale: k.Attrs.Number("scale"), do: in[3],
	}
	blocks := (p.tokens + p.size - 1) / p.size
	return truth.Partial(differentiable, in[:3], func(z [][]complex128) complex128 {
		total := complex128(0)
		for row := range p.batch * p.tokens * p.heads {
			b, t, h, _ := p.row(row)
			var keys []int64
			for c := int64(0); c <= floorDiv(t-p.size+1, p.size); c++ {
				keys = append(keys, (b*blocks+c)*p.headsKV+h)
			}
			total += a.mean(z, row, keys)
		}
		return total
	}), nil
}

// floorDiv divides as the definition does: -1 before the first block ends.
func floorDiv(a, b int64) int64 { return int64(math.Floor(float64(a) / float64(b))) }
