package attention

import (
	"math"

	"triad/internal/judge"
	"triad/internal/truth"
)

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
	off += b.revived(p, q.s[x]-q.base, q.shift)
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
