package attention

import (
	"math"
	"runtime"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// gradients is the backward of one case. With saved tensors from the driver o and lse are given bits, and P =
// exp(s - lse); chained they follow from q, k and v, and their errors enter T.
type gradients struct {
	*attention
	do, o, lse tensor.Tensor
	given      bool
	lowSaved   bool // TFP32 differs from T
	gQ         float64

	dq, dk, dv judge.Target
	queries    map[int64]headRows // the judged rows of grad_q, by query head
	columns    map[int64]headRows // the judged rows of grad_k and grad_v, by key head
}

// mostParts is the largest number of interleaved parts that the queries of a head are divided into. It is
// fixed, so that sums do not depend on the machine.
const mostParts = 4

// Backward returns the truth of grad_q, grad_k and grad_v, given q, k, v and grad_o, and o and lse unless the
// case is chained.
func Backward(k *truth.Request) ([]judge.Target, error) {
	out, err := Gradients(k, 1)
	for _, t := range out {
		truth.RoundRow(t.Sim, t.Sim, t.DType)
	}
	return out, err
}

// Gradients is Backward with simulated results that are not rounded yet. A sum of grad_k or grad_v adds up as
// many times the queries of a group as there are tensors in one.
func Gradients(k *truth.Request, tensors int64) ([]judge.Target, error) {
	a, err := attentionOf(k)
	if err != nil {
		return nil, err
	}
	b := &gradients{attention: a, given: !k.Chained()}
	shape := []int64{a.batch, a.headsQ, a.seqQ, a.nV}
	if err := k.Shaped("grad_o", shape...); err != nil {
		return nil, err
	}
	b.do, _ = k.Tensor("grad_o")
	if b.given {
		if err := truth.FirstError(k.Shaped("o", shape...), k.Shaped("lse", shape[:3]...)); err != nil {
			return nil, err
		}
		b.o, _ = k.Tensor("o")
		b.lse, _ = k.Tensor("lse")
	}
	b.lowSaved = a.uP != judge.U32 || !b.given && a.d != op.FP32
	b.gQ = k.Growth(tensors * a.seqQ * (a.headsQ / a.headsKV))
	b.choose(k)
	targets := []*judge.Target{&b.dq, &b.dk, &b.dv}
	for _, t := range targets {
		t.Independent = t.Independent && !a.fewForGradients()
	}
	b.fill()
	out := make([]judge.Target, len(targets))
	for i, t := range targets {
		if !b.lowSaved {
			copy(t.TFP32, t.T)
		}
		out[i] = *t
	}
	return out, nil
}

// mostPairs is the largest number of pairs of a query and a key, times head_dim, that are worth computing
// only to know the lse and delta of queries for sampled keys; mostOfOne is the same where one key's head has
// more.
const mostPairs, mostOfOne = 1 << 31, 1 << 35

// choose chooses the judged rows: a sample of the rows of grad_q, and likewise of grad_k and grad_v. Where
// lse and delta have to be computed, which a single sampled key needs of every query that sees it, the keys
// come from as many heads as mostPairs allows, and from at least one. Under a causal mask few queries see the
// last keys of a head: where a whole head exceeds mostOfOne, the keys are among those.
func (b *gradients) choose(k *truth.Request) {
	rows := k.Sample.Choose(b.batch * b.headsQ * b.seqQ)
	b.dq = k.Target("grad_q", b.d, []int64{b.batch, b.headsQ, b.seqQ, b.n}, rows)
	b.queries = byHead(perHead(rows, b.batch*b.headsQ, b.seqQ))
	heads := b.batch * b.headsKV
	keys := k.Sample.Columns().Choose(heads * b.seqKV)
	pairs := float64(b.headsQ/b.headsKV) * float64(b.seqQ) * float64(b.seqKV) * float64(b.n)
	if keys != nil && !b.given {
		most := max(1, int64(mostPairs/max(pairs, 1)))
		queries := int64(mostOfOne / max(pairs, 1) * float64(b.seqQ))
		switch {
		case (b.causal || b.block > 0) && queries < b.seqQ:
			last := min(queries/max(b.block, 1), b.seqKV)
			keys = k.Sample.Columns().Last(heads*b.seqKV, max(1, last))
		case most < heads:
			keys = k.Sample.Columns().Within(heads, b.seqKV, most)
		}
	}
	target := func(name string, width int64) judge.Target {
		return k.Target(name, b.d, []int64{b.batch, b.headsKV, b.seqKV, width}, keys)
	}
	b.dk, b.dv = target("grad_k", b.n), target("grad_v", b.nV)
	b.columns = byHead(perHead(keys, heads, b.seqKV))
}

func byHead(parts []headRows) map[int64]headRows {
	heads := make(map[int64]headRows, len(parts))
	for _, p := range parts {
		heads[p.head] = p
	}
	return heads
}

// headWork is the work on one query head.
type headWork struct {
	queries       []int64 // to look at: where a key is judged, also all that see one
	rows, columns headRows
	parts         []headSums
}

// headSums are the sums that one part of a head's queries adds to the judged keys' gradients.
type headSums struct{ keys, values weightedSums }

// fill computes every judged element: heads in parallel, as many as there are cores for, each in parts; the
// sums of heads of a group are joined in the order of the heads.
func (b *gradients) fill() {
	parts := min(mostParts, b.seqQ)
	all := truth.Rest(nil, b.seqQ)
	wave := max(1, int64(runtime.GOMAXPROCS(0))/mostParts)
	for first := int64(0); first < b.batch*b.headsQ; first += wave {
		works, heads := make([]headWork, min(wave, b.batch*b.headsQ-first)), make([]*oneHead, wave)
		parallel.Each(int64(len(works)), func(i int64) {
			head := first + i
			w := headWork{rows: b.queries[head], columns: b.columns[b.kvHead(head)]}
			if w.queries = w.rows.rows; len(w.columns.rows) > 0 {
				w.queries = truth.Union(w.queries, all[b.firstSeeing(w.columns.rows[0]):])
			}
			if len(w.queries) > 0 {
				w.parts = make([]headSums, parts)
				heads[i] = b.atHead(head)
			}
			works[i] = w
		})
		parallel.Each(int64(len(works))*parts, func(i int64) {
			if w := works[i/parts]; heads[i/parts] != nil {
				w.parts[i%parts] = b.part(heads[i/parts], w, i%parts, parts)
			}
		})
		for i, w := range works {
			if size := int64(len(w.columns.rows)); len(w.parts) > 0 && size > 0 {
				b.join(heads[i], w, weightedSums(truth.RowOf(b.dk, w.columns.first, b.n).Through(size)),
					b.n, func(s headSums) weightedSums { return s.keys })
				b.join(heads[i], w, weightedSums(truth.RowOf(b.dv, w.columns.first, b.nV).Through(size)),
					b.nV, func(s headSums) weightedSums { return s.values })
			}
		}
	}
}

// tileQueries is the number of queries that are added to the keys' gradients together: those of one key then
// stay in the cache.
const tileQueries = 8

// part adds up queries part, part+parts, ... of a head, in this order for every key.
func (b *gradients) part(h *oneHead, w headWork, part, parts int64) headSums {
	rows := int64(len(w.columns.rows))
	sums := headSums{weightedSums(truth.NewRow(rows * b.n)), weightedSums(truth.NewRow(rows * b.nV))}
	memory := make([]backRow, tileQueries)
	tile := memory[:0]
	for x, i := range w.queries {
		if i%parts != part {
			continue
		}
		q := &memory[len(tile)]
		if b.backRow(h, q, w, i, int64(x)) {
			tile = memory[:len(tile)+1]
		}
		if len(tile) == tileQueries {
			b.addTile(h, tile, w, sums)
			tile = memory[:0]
		}
	}
	b.addTile(h, tile, w, sums)
	return sums
}

// addLost adds the loss of products below the normal range, only to elements that some product contributes
// to: the others are exactly 0.
func (g weightedSums) addLost(lost float64) {
	for i, t := range g.T {
		if t > 0 {
			g.T[i] += lost
			g.TFP32[i] += lost
		}
	}
}

// firstSeeing returns the first query that sees key j, seqQ where none does; all after it see the key too.
func (b *gradients) firstSeeing(j int64) int64 {
	if b.block > 0 {
		return min(b.seqQ, (j+1)*b.block-1)
	}
	if !b.causal {
		return 0
	}
	return min(b.seqQ, max(0, j-(b.seqKV-b.seqQ)))
}

// seeing returns the number of queries that see key j.
func (b *gradients) seeing(j int64) int64 { return b.seqQ - b.firstSeeing(j) }

// lostProducts returns the largest loss of one pair's product and its scaling below fp32's normal range.
func (b *gradients) lostProducts() float64 { return truth.Subnormal * (1 + math.Abs(b.scale)) }

// join adds one query head's parts to the sum over the group, of rows of so many elements. The written
// composition stores each head's gradient before it adds them.
func (b *gradients) join(h *oneHead, w headWork, to weightedSums, width int64,
	of func(headSums) weightedSums,
) {
	sum := of(w.parts[0])
	for _, s := range w.parts[1:] {
		truth.Row(sum).Add(truth.Row(of(s)))
	}
	for slot, j := range w.columns.rows {
		sum.at(int64(slot), width).addLost(float64(b.seeing(j)) * b.lostProducts())
	}
	if b.rules.EveryStep && b.headsQ > b.headsKV {
		u, tiny := truth.Unit(b.d), truth.HalfSubnormal(b.d)
		for i, t := range sum.T {
			if t > 0 || sum.R[i] != 0 {
				sum.T[i] += u*(math.Abs(sum.R[i])+t) + tiny
			}
		}
		truth.RoundRow(sum.Sim, sum.Sim, b.d)
	}
	truth.Row(to).Add(truth.Row(sum))
}
