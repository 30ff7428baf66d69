package latent

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// hidden returns the number of the last keys that HiddenChanged changes: about half of those that the causal
// mask hides from the first query that sees a key. No query before the last that many sees them.
func hidden(c op.Case) int64 { return (min(c.Dims.Get("seq_q"), c.Dims.Get("seq_kv")) + 1) / 2 }

// HiddenChanged makes the last latent rows large, of either sign: a weight that should be exactly 0 then
// shows.
func HiddenChanged(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	n, keys := c.Dims.Get("head_dim"), c.Dims.Get("seq_kv")
	return c, []tensor.Tensor{truth.Changed(first.Get("kv"), func(i int64, v float64) float64 {
		switch {
		case i/n%keys < keys-hidden(c):
			return v
		case i%3 == 0:
			return -30
		}
		return 30
	})}
}

// Unmoved: what belongs to queries that do not see the changed keys keeps every bit.
func Unmoved(a *truth.Related, output string) judge.Statement {
	shape, c := a.First.Target(output).Shape, a.First.Case
	if a.Failed() {
		return judge.Statement{}
	}
	queries, each := c.Dims.Get("seq_q"), int64(1) // lse is [batch, heads, queries]
	if len(shape) == 4 {
		each = shape[2] * shape[3]
	}
	at := []int64{} // not nil: none is none
	for i := range a.First.Target(output).Elements() {
		if i/each%queries < queries-hidden(c) {
			at = append(at, i)
		}
	}
	return a.Equal(output, 1, at)
}

// ReversedKeys reverses the order of the keys.
func ReversedKeys(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	kv, n, keys := first.Get("kv"), c.Dims.Get("head_dim"), c.Dims.Get("seq_kv")
	return c, []tensor.Tensor{truth.Moved(kv, kv.Shape, func(i int64) int64 {
		return i + (keys-1-2*(i/n%keys))*n
	})}
}

// ValueGradients: with queries of 0 a latent row's gradient is that of its value, dV_j = sum P_ij dO_i. As
// sum_j P_ij = 1, up to the rounding of a saved lse, those of all keys add up to the upstream gradients of
// all queries and heads.
func ValueGradients(a *truth.Related, output string) judge.Statement {
	grad, do, t, c := a.Second.Out(output), a.Second.In("grad_o"), a.Second.Target(output), a.Second.Case
	if a.Failed() {
		return judge.Statement{}
	}
	off := a.Second.Error(output)
	n, nV, keys := t.Shape[2], int64(c.Attrs.Number("head_dim_v")), int(t.Shape[1])
	rows := c.Dims.Get("seq_q") * c.Dims.Get("heads")
	return judge.Statement{Shape: []int64{t.Shape[0], nV}, N: t.Shape[0] * nV, At: func(i int64) judge.Claim {
		b, x := i/nV, i%nV
		at := func(j int) int64 { return (b*int64(keys)+int64(j))*n + x }
		upstream := func(r int) float64 { return do[(b*rows+int64(r))*nV+x] }
		want := truth.SumOf(int(rows), upstream)
		e := truth.SumOf(keys, func(j int) float64 { return off(at(j)) })
		size := truth.SumOf(int(rows), func(r int) float64 { return math.Abs(upstream(r)) })
		e += (judge.G(int64(keys)+rows)*judge.U64 + judge.U32*math.Log(float64(keys))) * size
		got := truth.SumOf(keys, func(j int) float64 { return grad[at(j)] })
		return judge.Claim{Position: i, Got: got, Low: want - e, High: want + e}
	}}
}
