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
		most, queries := max(1, int64(mostPairs/max(pairs, 1))), int64(mostOfOne/max(pairs, 1)*float64(b.seqQ))
		switch {
		case b.causal && queries < b.seqQ:
			keys = k.Sample.Columns().Last(heads*b.seqKV, max(1, min(queries, b.seqKV)))
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
	sums := headSums{newWeightedSums(rows * b.n), newWeightedSums(rows * b.nV)}
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
		p := of(s)
		truth.Axpy(sum.R, 1, p.R)
		truth.Axpy(sum.T, 1, p.T)
		truth.Axpy(sum.TFP32, 1, p.TFP32)
		truth.Axpy(sum.Sim, 1, p.Sim)
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
	truth.Axpy(to.R, 1, sum.R)
	truth.Axpy(to.T, 1, sum.T)
	truth.Axpy(to.TFP32, 1, sum.TFP32)
	truth.Axpy(to.Sim, 1, sum.Sim)
}

// backRow is one query: its weights and the gradients of its scores, with their error bounds and as the
// contract stores them. It is working memory, reused for each query.
type backRow struct {
	queryRow
	i           int64
	slot        int64   // of its row of grad_q; -1 where that is not judged
	keys        []int64 // whose gradients are wanted: all it sees where its row of grad_q is judged
	every       bool    // scores and weights are those of every key it sees, not of keys alone
	do, simDO   []float64
	o           truth.Row
	gradients   []float64 // backing of the following fields, which are per key
	pError      []float64
	pErrorFP32  []float64
	pStored     []float64
	dp          []float64
	dpAbs       []float64
	dpSim       []float64
	ds          []float64
	dsError     []float64
	dsErrorFP32 []float64
	dsSim       []float64

	// the value subtracted in the exponent: lse where it is given, the maximum otherwise
	base                       float64
	shift                      float64 // how far two exponents may move against each other
	deltaR                     float64 // delta = sum of dO*o
	deltaError, deltaErrorFP32 float64
	simBase, simDelta          float64 // lse and delta as the contract's forward saves them
	gV                         float64
}

// sumError returns the error of dP = dO.v in fp32: u32*g(Dv)*|dO|.|v|.
func (q *backRow) sumError(c int) float64 { return judge.U32 * q.gV * q.dpAbs[c] }

// at returns the index of the scores and weights of the c-th wanted key.
func (q *backRow) at(c int) int {
	if q.every {
		return int(q.keys[c])
	}
	return c
}

// addTile adds the parts of some queries to dq, dk and dv. With P and dS off by pError and dsError (below)
// the error bounds are
//
//	dV: (P*(eps_b + u_P) + eta)^T |dO| + u32*g(Sq)*P^T |dO|
//	dQ: scale*(T_dS |K|) + u32*g(Sk)*scale*(|dS| |K|)        dK: the same transposed, with |Q| and g(Sq)
//
// and (1+scale)*2^-149 a pair for products below the normal range. Where nothing contributes T is 0.
func (b *gradients) addTile(h *oneHead, tile []backRow, w headWork, sums headSums) {
	for slot, j := range w.columns.rows {
		keys, values := sums.keys.at(int64(slot), b.n), sums.values.at(int64(slot), b.nV)
		for t := range tile {
			q := &tile[t]
			c := slot
			if q.slot >= 0 || b.rules.EveryStep {
				c = int(j)
			}
			if c < len(q.keys) {
				b.addToKey(q, c, keys, values)
			}
		}
	}
	for t := range tile {
		if tile[t].slot >= 0 {
			b.addToQuery(h, &tile[t])
		}
	}
}

// addToKey adds one query's part to dk and dv of its c-th key.
func (b *gradients) addToKey(q *backRow, c int, keys, values weightedSums) {
	b.addScaled(keys, q, c, judge.U32*b.gQ, q.query, q.simQuery)
	p := q.p[q.at(c)]
	rows := judge.U32 * b.gQ * p
	values.add(p, q.pError[c]+rows, q.pErrorFP32[c]+rows, q.pStored[c], b.lowSaved, q.do, q.simDO)
}

// addToQuery adds every key's part to the query's dq.
func (b *gradients) addToQuery(h *oneHead, q *backRow) {
	dq := weightedSums(truth.RowOf(b.dq, q.slot, b.n))
	for j := range q.keys {
		b.addScaled(dq, q, j, judge.U32*b.gK, h.keyed(h.k, int64(j)), h.keyed(h.simK, int64(j)))
	}
	dq.addLost(float64(len(q.p)) * b.lostProducts())
}

// addScaled adds scale*dS of the c-th key times x, in a sum whose error is sum times its terms.
func (b *gradients) addScaled(to weightedSums, q *backRow, c int, sum float64, x, simX []float64) {
	scale := math.Abs(b.scale)
	size, t := scale*math.Abs(q.ds[c]), scale*q.dsError[c]
	to.add(b.scale*q.ds[c], t+sum*size+b.operandError(size+t), scale*q.dsErrorFP32[c]+sum*size,
		b.scale*q.dsSim[c], b.lowSaved, x, simX)
}

// operandError returns the error of reading both operands of a product as tf32.
func (b *gradients) operandError(size float64) float64 {
	if b.tf32() {
		return 2 * judge.UTF * size
	}
	return 0
}

// backRow computes P, dP and dS of query i, the x-th that is examined, with
//
//	eps_b = eps + sum_j P_j*eps_j + u32*g(Sk)              the last two only where l is not given
//	pError = P*(eps_b + u_P) + eta
//	T_dS  = P*(2*eps_b*|dP - delta| + (1 + eps_b)*(u32*g(Dv)*|dO|.|v| + T_delta))
//	        + 2^-126*|dP - delta| + 2^-149
//	        + (u_P*P + eta)*|dP - delta|, then + u*(|dS| + T_dS) + eta*max(1, 1/scale)
//	                                                       the last line where P and dS may be stored low
//
// It reports whether the query adds anything: where the upstream gradient is 0, its contribution is exactly
// 0.
func (b *gradients) backRow(h *oneHead, q *backRow, w headWork, i, x int64) bool {
	q.i, q.slot, q.gV = i, w.rows.slotOf(i, x), b.gV
	seen := b.visible(i)
	q.keys = b.keys[:seen]
	if q.slot < 0 && !b.rules.EveryStep {
		q.keys = truth.Below(w.columns.rows, seen)
	}
	if q.every = !b.given || q.slot >= 0 || b.rules.EveryStep; q.every {
		h.scores(i, b.keys[:seen], &q.scores)
	} else {
		h.scores(i, q.keys, &q.scores)
	}
	n := len(q.keys)
	q.gradients = resized(q.gradients, 10*n)
	clear(q.gradients)
	for k, slice := range []*[]float64{
		&q.pError, &q.pErrorFP32, &q.pStored, &q.dp, &q.dpAbs, &q.dpSim, &q.ds,
		&q.dsError, &q.dsErrorFP32, &q.dsSim,
	} {
		*slice = q.gradients[k*n : (k+1)*n]
	}
	q.do = h.queried(b.do, i)
	q.simDO = b.operands(q.do)
	if n > 0 {
		b.weights(h, q)
		b.delta(h, q)
		for c := range q.keys {
			b.gradient(h, q, c)
		}
		if b.rules.EveryStep {
			b.eagerGradients(h, q)
		}
	}
	return !(truth.AllZero(q.do) && truth.AllZero(q.ds) && truth.AllZero(q.dp))
}

// slotOf returns the position of row i of the head among all judged rows, -1 where it is not judged; x is the
// position to try first.
func (r headRows) slotOf(i, x int64) int64 {
	if x < int64(len(r.rows)) && r.rows[x] == i {
		return r.first + x
	}
	if at := truth.Below(r.rows, i); len(at) < len(r.rows) && r.rows[len(at)] == i {
		return r.first + int64(len(at))
	}
	return -1
}

// weights fills P, and where l is not given o and its error too.
func (b *gradients) weights(h *oneHead, q *backRow) {
	q.shift = 2 * h.largestShift(q.scores)
	if !b.given {
		n := b.nV
		o := resized(q.o.R, 4*int(n))
		clear(o)
		q.o = truth.Row{R: o[:n], T: o[n : 2*n], TFP32: o[2*n : 3*n], Sim: o[3*n : 4*n]}
		f := h.forwardRow(&q.queryRow, q.o)
		q.base, q.simBase = q.max, f.sim
		for j := range q.p {
			q.p[j] /= q.l
		}
		q.spread += judge.U32 * b.gK
		q.spreadFP32 += judge.U32 * b.gK
		return
	}
	one := make([]float64, 1)
	b.lse.DecodeRow(one, h.head, q.i)
	q.base, q.simBase = one[0], one[0]
	q.spread, q.spreadFP32 = 0, 0
	q.p = resized(q.p, len(q.s))
	clear(q.p)
	if !math.IsInf(q.base, -1) {
		for j, s := range q.s {
			q.p[j] = math.Exp(s - q.base)
		}
	}
	q.pSim = q.p
	q.o.R = h.queried(b.o, q.i)
	q.o.Sim = q.o.R
}

// delta fills delta = sum of dO*o with u32*g(Dv)*sum|dO*o|, and where o is not given + sum |dO|*(u_o*|o| +
// T_o + half of its dtype's smallest subnormal): an o that is exactly 0 is stored exactly.
func (b *gradients) delta(h *oneHead, q *backRow) {
	q.deltaR, q.simDelta, q.deltaError, q.deltaErrorFP32 = 0, 0, 0, 0
	u, tiny, o := truth.Unit(b.d), truth.HalfSubnormal(b.d), q.o
	for c, g := range q.do {
		term := float64(g * o.R[c])
		q.deltaR += term
		q.simDelta += float64(g * o.Sim[c])
		sum := judge.U32 * b.gV * math.Abs(term)
		q.deltaError += sum
		q.deltaErrorFP32 += sum
		if !b.given {
			stored := u*math.Abs(o.R[c]) + o.T[c]
			if stored > 0 {
				stored += tiny
			}
			q.deltaError += truth.Weighted(math.Abs(g), stored)
			q.deltaErrorFP32 += truth.Weighted(math.Abs(g), judge.U32*math.Abs(o.R[c])+o.TFP32[c])
		}
	}
}

// weightOff returns the largest error of P; where P is normalised by its own sum it lies in [0, 1] whatever
// happened to the scores.
func (b *gradients) weightOff(p, eps float64) float64 {
	if b.given {
		return truth.Weighted(p, eps)
	}
	return math.Min(truth.Weighted(p, eps), 1)
}

// gradient fills dP and dS of the c-th wanted key and every error bound.
func (b *gradients) gradient(h *oneHead, q *backRow, c int) {
	j, x := q.keys[c], q.at(c)
	q.dp[c], q.dpAbs[c] = truth.Dots(q.do, h.valued(h.v, j))
	q.dpSim[c] = q.dp[c]
	if b.tf32() {
		q.dpSim[c], _ = truth.Dots(q.simDO, h.valued(h.simV, j))
	}
	p, apart := q.p[x], q.dp[c]-q.deltaR
	size := math.Abs(apart)
	q.ds[c] = p * apart
	own, ownFP32 := b.weightError(q.s[x], q.abs[x], q.base), b.weightErrorFP32(q.s[x], q.abs[x], q.base)
	off, offFP32 := b.weightOff(p, own+q.spread), b.weightOff(p, ownFP32+q.spreadFP32)
	off += truth.Revived(p, q.s[x]-q.base, q.shift)
	q.pError[c] = off + truth.Weighted(p, b.uP) + b.eta
	q.pErrorFP32[c] = offFP32 + truth.Weighted(p, judge.U32) + judge.Tiny
	products := q.sumError(c) + b.operandError(q.dpAbs[c])
	underflow := judge.Tiny*size + truth.Subnormal // of P, and of dS itself
	q.dsError[c] = 2*off*size + truth.Weighted(p+off, products+q.deltaError) + underflow
	q.dsErrorFP32[c] = 2*offFP32*size + truth.Weighted(p+offFP32, q.sumError(c)+q.deltaErrorFP32) + underflow
	weight := 0.0
	if !math.IsInf(q.simBase, -1) {
		weight = math.Exp(q.sim[x] - q.simBase)
		q.pStored[c] = b.storedWeight(weight)
	}
	if b.rules.LowWeights { // else the weight is rounded as an operand alone
		weight = q.pStored[c]
	}
	q.dsSim[c] = b.storedWeight(weight * (q.dpSim[c] - q.simDelta))
	if b.rules.LowWeights {
		q.dsError[c] += (truth.Weighted(p, b.uP) + b.eta) * size
		q.dsError[c] += b.uP*(math.Abs(q.ds[c])+q.dsError[c]) + b.eta*math.Max(1, 1/math.Abs(b.scale))
	}
}
