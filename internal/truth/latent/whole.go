package latent

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/attention"
)

// whole returns the request of attention that has one head of keys and values, all of whose rows are there:
// q[batch, queries, heads, n], o and grad_o by heads first, and of kv[batch, keys, n] every row as a key, the
// first elements of each as its value. Nothing is copied.
func whole(k *truth.Request) (*truth.Request, error) {
	in, err := k.Tensors("q", "kv")
	if err != nil {
		return nil, err
	}
	q, kv, nV := in[0], in[1], int64(k.Attrs.Number("head_dim_v"))
	if len(q.Shape) != 4 || len(kv.Shape) != 3 || kv.Shape[0] != q.Shape[0] || kv.Shape[2] != q.Shape[3] ||
		nV < 1 || nV > q.Shape[3] {
		return nil, fmt.Errorf("q has shape %v, kv %v, values %d elements: want [batch, queries, heads, n], "+
			"[batch, keys, n], at most n", q.Shape, kv.Shape, nV)
	}
	key := kv
	key.Name = "k"
	key.Shape = slices.Insert(slices.Clone(kv.Shape), 1, 1)
	key.Stride = slices.Insert(slices.Clone(kv.Stride), 1, 0)
	value := key
	value.Name, value.Shape = "v", slices.Clone(key.Shape)
	value.Shape[3] = nV
	r := *k
	r.In = []tensor.Tensor{key, value}
	for _, t := range k.In {
		switch t.Name {
		case "q", "o", "grad_o":
			t = attention.ByHeads(t)
		case "kv":
			continue
		}
		r.In = append(r.In, t)
	}
	return &r, nil
}

// OfWhole returns the truth of o [batch, queries, heads, head_dim_v] and lse [batch, heads, queries] where
// every latent row is there: that of attention with one head of keys and values.
func OfWhole(k *truth.Request) ([]judge.Target, error) {
	r, err := whole(k)
	if err != nil {
		return nil, err
	}
	out, err := attention.Forward(r)
	if err != nil {
		return nil, err
	}
	out[0] = attention.ByToken(out[0])
	return out, nil
}

// GradientsOfWhole returns the truth of grad_q and grad_kv. A latent row's gradient is that of a key, with
// that of its value added to the first elements before it is rounded:
//
//	T = T_dK + T_dV + u32*|R|
//
// the two sums, which may be one of twice as many terms, and their addition.
func GradientsOfWhole(k *truth.Request) ([]judge.Target, error) {
	r, err := whole(k)
	if err != nil {
		return nil, err
	}
	out, err := attention.Gradients(r, 2)
	if err != nil {
		return nil, err
	}
	dq, dkv, dv := attention.ByToken(out[0]), out[1], out[2]
	n, nV := dkv.Shape[3], dv.Shape[3]
	dkv.Name, dkv.Shape = "grad_kv", slices.Delete(slices.Clone(dkv.Shape), 1, 2)
	for i, part := range dv.R {
		at := int64(i)/nV*n + int64(i)%nV
		dkv.R[at] += part
		own := judge.U32 * math.Abs(dkv.R[at])
		dkv.T[at] += dv.T[i] + own
		dkv.TFP32[at] += dv.TFP32[i] + own
		dkv.Sim[at] += dv.Sim[i]
	}
	truth.RoundRow(dq.Sim, dq.Sim, dq.DType)
	truth.RoundRow(dkv.Sim, dkv.Sim, dkv.DType)
	return []judge.Target{dq, dkv}, nil
}
