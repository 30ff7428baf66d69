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
			t.Shape, t.Stride = swapped(t.Shape), swapped(t.Stride)
		case "kv":
			continue
		}
		r.In = append(r.In, t)
	}
	return &r, nil
}

// swapped exchanges the two dims in the middle of four.
func swapped(x []int64) []int64 {
	y := slices.Clone(x)
	if len(y) == 4 {
		y[1], y[2] = y[2], y[1]
	}
	return y
}

// byToken orders the rows of an output [batch, heads, queries, n] as [batch, queries, heads, n].
func byToken(t judge.Target) judge.Target {
	heads, queries, n := t.Shape[1], t.Shape[2], t.Shape[3]
	type row struct{ from, to int64 } // the from-th judged row is row to of the output
	rows := make([]row, int64(len(t.R))/n)
	for x := range rows {
		r := truth.PlaceOf(t.Index, int64(x)*n) / n
		rows[x] = row{int64(x), (r/queries/heads*queries+r%queries)*heads + r/queries%heads}
	}
	slices.SortFunc(rows, func(a, b row) int { return int(a.to - b.to) })
	moved := t
	moved.Shape = swapped(t.Shape)
	for _, field := range []*[]float64{&moved.R, &moved.T, &moved.TFP32, &moved.Sim} {
		was := *field
		*field = make([]float64, 0, len(was))
		for _, r := range rows {
			*field = append(*field, was[r.from*n:(r.from+1)*n]...)
		}
	}
	if t.Index != nil {
		moved.Index = make([]int64, 0, len(t.Index))
		for _, r := range rows {
			for c := range n {
				moved.Index = append(moved.Index, r.to*n+c)
			}
		}
	}
	return moved
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
	out[0] = byToken(out[0])
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
	dq, dkv, dv := byToken(out[0]), out[1], out[2]
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
