package catalog

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// attentionBack is the backward of one case. With saved tensors from the driver o and lse are given bits, and P = exp(s - lse); chained they
// follow from q, k and v, and their errors enter T.
type attentionBack struct {
	*attention
	do, o, lse []float64
	simDO      []float64 // as the contract's products see it
	given      bool
	lowSaved   bool // TFP32 differs from T
	gQ         float64
}

// gradientSums are one gradient of one head: what is added up for R, T, TFP32 and Sim.
type gradientSums row

func newGradientSums(n int64) gradientSums {
	return gradientSums{make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)}
}

func (g gradientSums) at(j, n int64) gradientSums {
	a, b := j*n, (j+1)*n
	return gradientSums{g.R[a:b], g.T[a:b], g.TFP32[a:b], g.Sim[a:b]}
}

// add adds weight*x to R, t*|x| to T, and sim*simX to Sim.
func (g gradientSums) add(weight, t, tFP32, sim float64, low bool, x, simX []float64) {
	axpy(g.R, weight, x)
	axpyAbs(g.T, t, x)
	axpy(g.Sim, sim, simX)
	if low {
		axpyAbs(g.TFP32, tFP32, x)
	}
}

// fewQueries of a group are too few for the root mean square of rounding errors to say anything.
const fewQueries = 16

// attentionParts is how many interleaved parts the queries of a head are divided into. It is fixed, so that sums do not depend on the machine.
const attentionParts = 4

func attentionBackward(k *call) ([]judge.Target, error) {
	a, err := k.attention()
	if err != nil {
		return nil, err
	}
	b := &attentionBack{attention: a, given: !k.chained()}
	names := []string{"grad_o", "o", "lse"}
	if !b.given {
		names = names[:1]
	}
	in, err := k.values(names...)
	if err != nil {
		return nil, err
	}
	shape := []int64{a.batch, a.headsQ, a.seqQ, a.n}
	if err := k.shaped("grad_o", shape...); err != nil {
		return nil, err
	}
	b.do, b.simDO = in[0], a.operands(in[0])
	if b.given {
		if err := firstError(k.shaped("o", shape...), k.shaped("lse", shape[:3]...)); err != nil {
			return nil, err
		}
		b.o, b.lse = in[1], in[2]
	}
	b.lowSaved = a.uP != judge.U32 || !b.given && a.d != op.FP32
	b.gQ = k.growth(a.seqQ * (a.headsQ / a.headsKV))
	dq := k.target("grad_q", a.d, shape, nil)
	dk := k.target("grad_k", a.d, []int64{a.batch, a.headsKV, a.seqKV, a.n}, nil)
	dv := k.target("grad_v", a.d, []int64{a.batch, a.headsKV, a.seqKV, a.n}, nil)
	// All elements share the rounding errors of each query's delta, and of the few large weights: of few queries these are no statistic.
	few := a.seqQ*(a.headsQ/a.headsKV) < fewQueries || k.Distribution == "late_max"
	dq.Independent, dk.Independent, dv.Independent = dq.Independent && !few, dk.Independent && !few, dv.Independent && !few
	for head := range a.batch * a.headsQ {
		b.oneHead(head, dq, dk, dv)
	}
	for _, t := range []judge.Target{dq, dk, dv} {
		roundRow(t.Sim, t.Sim, a.d)
		if !b.lowSaved {
			copy(t.TFP32, t.T)
		}
	}
	return []judge.Target{dq, dk, dv}, nil
}

// oneHead adds what one query head gives to its dq and to the dk and dv of its key head.
func (b *attentionBack) oneHead(head int64, dq, dk, dv judge.Target) {
	size := b.seqKV * b.n
	parts := min(attentionParts, b.seqQ)
	keys, values := make([]gradientSums, parts), make([]gradientSums, parts)
	inParallel(parts, func(p int64) {
		keys[p], values[p] = newGradientSums(size), newGradientSums(size)
		for i := p; i < b.seqQ; i += parts {
			at := head*b.seqQ + i
			b.oneQuery(head, i, gradientSums(rowOf(dq, at, b.n)), keys[p], values[p])
		}
	})
	at := b.kvHead(head)
	b.join(gradientSums(rowOf(dk, at, size)), keys)
	b.join(gradientSums(rowOf(dv, at, size)), values)
}

// addLost adds what products lose below the normal range, to those elements alone that some product contributes to: the others are exactly 0.
func (g gradientSums) addLost(lost float64) {
	for i, t := range g.T {
		if t > 0 {
			g.T[i] += lost
			g.TFP32[i] += lost
		}
	}
}

// seeing is how many queries see key j.
func (b *attentionBack) seeing(j int64) int64 {
	if !b.causal {
		return b.seqQ
	}
	return max(0, b.seqQ-max(0, j-(b.seqKV-b.seqQ)))
}

// lostProducts is what one pair's product and its scaling may lose below fp32's normal range.
func (b *attentionBack) lostProducts() float64 { return subnormal * (1 + math.Abs(b.scale)) }

// join adds one query head's parts to the sum over the group. The written composition stores each head's gradient before it adds them.
func (b *attentionBack) join(to gradientSums, parts []gradientSums) {
	if len(parts) == 0 {
		return
	}
	sum := parts[0]
	for _, p := range parts[1:] {
		axpy(sum.R, 1, p.R)
		axpy(sum.T, 1, p.T)
		axpy(sum.TFP32, 1, p.TFP32)
		axpy(sum.Sim, 1, p.Sim)
	}
	for j := range b.seqKV {
		sum.at(j, b.n).addLost(float64(b.seeing(j)) * b.lostProducts())
	}
	if b.rules.EveryStep && b.headsQ > b.headsKV {
		u, tiny := unit(b.d), halfSubnormal(b.d)
		for i, t := range sum.T {
			if t > 0 || sum.R[i] != 0 {
				sum.T[i] += u*(math.Abs(sum.R[i])+t) + tiny
			}
		}
		roundRow(sum.Sim, sum.Sim, b.d)
	}
	axpy(to.R, 1, sum.R)
	axpy(to.T, 1, sum.T)
	axpy(to.TFP32, 1, sum.TFP32)
	axpy(to.Sim, 1, sum.Sim)
}

// backRow is one query: its weights and the gradients of its scores, with their allowances and as the contract stores them.
type backRow struct {
	scores
	head, i                         int64
	p, pError, pErrorFP32, pSim     []float64
	dp, dpAbs, dpSim                []float64
	ds, dsError, dsErrorFP32, dsSim []float64
	base                            float64 // what is subtracted in the exponent: lse where it is given, the maximum else
	spread, spreadFP32              float64 // chained: the relative error of l
	deltaR                          float64 // delta = sum of dO*o
	deltaError, deltaErrorFP32      float64
	simBase, simDelta               float64 // lse and delta as the contract's forward saves them
	gD                              float64
}

// sumError is the error of dP = dO.v in fp32: u32*g(D)*|dO|.|v|.
func (q *backRow) sumError(j int) float64 { return judge.U32 * q.gD * q.dpAbs[j] }

// oneQuery adds query i's part to dq, dk and dv. With P and dS off by pError and dsError (below) the allowances are
//
//	dV: (P*(eps_b + u_P) + eta)^T |dO| + u32*g(Sq)*P^T |dO|
//	dQ: scale*(T_dS |K|) + u32*g(Sk)*scale*(|dS| |K|)        dK: the same transposed, with |Q| and g(Sq)
//
// and (1+scale)*2^-149 a pair for products below the normal range. Where nothing contributes T is 0.
func (b *attentionBack) oneQuery(head, i int64, dq, dk, dv gradientSums) {
	q := b.backRow(head, i)
	query, do := b.query(b.q, head, i), b.query(b.do, head, i)
	simQuery, simDO := b.query(b.simQ, head, i), b.query(b.simDO, head, i)
	if allZero(do) && allZero(q.ds) && allZero(q.dp) {
		return // nothing comes from above: what this query adds is exactly 0
	}
	c := math.Abs(b.scale)
	for j := range q.p {
		at := int64(j)
		key := b.keyed(b.k, head, at)
		ds, size := b.scale*q.ds[j], c*math.Abs(q.ds[j])
		t, tFP32, sim := c*q.dsError[j], c*q.dsErrorFP32[j], b.scale*q.dsSim[j]
		keys, queries := judge.U32*b.gK*size, judge.U32*b.gQ*size
		dq.add(ds, t+keys+b.operandError(size), tFP32+keys, sim, b.lowSaved, key, b.keyed(b.simK, head, at))
		dk.at(at, b.n).add(ds, t+queries+b.operandError(size), tFP32+queries, sim, b.lowSaved, query, simQuery)
		rows := judge.U32 * b.gQ * q.p[j]
		dv.at(at, b.n).add(q.p[j], q.pError[j]+rows, q.pErrorFP32[j]+rows, q.pSim[j], b.lowSaved, do, simDO)
	}
	dq.addLost(float64(len(q.p)) * b.lostProducts())
}

// operandError is what rounding both operands of a product to tf32 costs.
func (b *attentionBack) operandError(size float64) float64 {
	if b.tf32() {
		return 2 * judge.UTF * size
	}
	return 0
}

// backRow computes P, dP and dS of one query, with
//
//	eps_b = eps + sum_j P_j*eps_j + u32*g(Sk)                             the last two only where l is not given
//	pError = P*(eps_b + u_P) + eta
//	T_dS  = P*(2*eps_b*|dP - delta| + (1 + eps_b)*(u32*g(D)*|dO|.|v| + T_delta)) + 2^-126*|dP - delta| + 2^-149
//	        + (u_P*P + eta)*|dP - delta|, then + u*(|dS| + T_dS) + eta*max(1, 1/scale)     where P and dS may be stored low
func (b *attentionBack) backRow(head, i int64) *backRow {
	q := &backRow{head: head, i: i, gD: b.gD}
	b.scores(head, i, &q.scores)
	n := len(q.s)
	backing := make([]float64, 11*n)
	for k, slice := range []*[]float64{&q.p, &q.pError, &q.pErrorFP32, &q.pSim, &q.dp, &q.dpAbs, &q.dpSim, &q.ds, &q.dsError, &q.dsErrorFP32, &q.dsSim} {
		*slice = backing[k*n : (k+1)*n]
	}
	if n == 0 {
		return q
	}
	b.weights(q)
	b.delta(q)
	for j := range q.p {
		b.gradient(q, j)
	}
	if b.rules.EveryStep {
		b.eagerGradients(q)
	}
	return q
}

// weights fills P, dP, and where l is not given the error of l.
func (b *attentionBack) weights(q *backRow) {
	do := b.query(b.do, q.head, q.i)
	if b.given {
		q.base = b.lse[q.head*b.seqQ+q.i]
		q.simBase = q.base
	} else {
		q.base = q.max
	}
	for j, s := range q.s {
		q.dp[j], q.dpAbs[j] = dots(do, b.keyed(b.v, q.head, int64(j)))
		q.dpSim[j] = q.dp[j]
		if b.tf32() {
			q.dpSim[j], _ = dots(b.query(b.simDO, q.head, q.i), b.keyed(b.simV, q.head, int64(j)))
		}
		if !math.IsInf(q.base, -1) {
			q.p[j] = math.Exp(s - q.base)
		}
	}
	if b.given {
		return
	}
	l := sumOf(len(q.p), func(j int) float64 { return q.p[j] })
	simL := sumOf(len(q.sim), func(j int) float64 { return math.Exp(q.sim[j] - q.simMax) })
	q.simBase = tensor.Round(op.FP32, q.simMax+math.Log(simL), false)
	for j := range q.p {
		q.p[j] /= l
		q.spread += weighted(q.p[j], b.weightError(q.s[j], q.abs[j], q.base))
		q.spreadFP32 += weighted(q.p[j], b.weightErrorFP32(q.s[j], q.abs[j], q.base))
	}
	q.spread += judge.U32 * b.gK
	q.spreadFP32 += judge.U32 * b.gK
}

// delta fills delta = sum of dO*o with u32*g(D)*sum|dO*o|, and where o is not given + sum |dO|*(u_o*|o| + T_o).
func (b *attentionBack) delta(q *backRow) {
	do := b.query(b.do, q.head, q.i)
	var o row
	if b.given {
		o.R = b.query(b.o, q.head, q.i)
		o.Sim = o.R
	} else {
		all := make([]float64, 4*b.n)
		o = row{all[:b.n], all[b.n : 2*b.n], all[2*b.n : 3*b.n], all[3*b.n:]}
		b.forwardRow(q.head, q.i, o)
	}
	u := unit(b.d)
	for c, g := range do {
		term := float64(g * o.R[c])
		q.deltaR += term
		q.simDelta += float64(g * o.Sim[c])
		sum := judge.U32 * b.gD * math.Abs(term)
		q.deltaError += sum
		q.deltaErrorFP32 += sum
		if !b.given {
			q.deltaError += weighted(math.Abs(g), u*math.Abs(o.R[c])+o.T[c])
			q.deltaErrorFP32 += weighted(math.Abs(g), judge.U32*math.Abs(o.R[c])+o.TFP32[c])
		}
	}
}

// weightOff is how far P may be off; where P is normalised by its own sum it lies in [0, 1] whatever happened to the scores.
func (b *attentionBack) weightOff(p, eps float64) float64 {
	if b.given {
		return weighted(p, eps)
	}
	return math.Min(weighted(p, eps), 1)
}

// gradient fills dS of one pair and every allowance.
func (b *attentionBack) gradient(q *backRow, j int) {
	p, apart := q.p[j], q.dp[j]-q.deltaR
	size := math.Abs(apart)
	q.ds[j] = p * apart
	eps := b.weightError(q.s[j], q.abs[j], q.base) + q.spread
	epsFP32 := b.weightErrorFP32(q.s[j], q.abs[j], q.base) + q.spreadFP32
	off, offFP32 := b.weightOff(p, eps), b.weightOff(p, epsFP32)
	q.pError[j] = off + weighted(p, b.uP) + b.eta
	q.pErrorFP32[j] = offFP32 + weighted(p, judge.U32) + judge.Tiny
	products := q.sumError(j) + b.operandError(q.dpAbs[j])
	underflow := judge.Tiny*size + subnormal // of P, and of dS itself
	q.dsError[j] = 2*off*size + weighted(p+off, products+q.deltaError) + underflow
	q.dsErrorFP32[j] = 2*offFP32*size + weighted(p+offFP32, q.sumError(j)+q.deltaErrorFP32) + underflow
	if !math.IsInf(q.simBase, -1) {
		q.pSim[j] = b.storedWeight(math.Exp(q.sim[j] - q.simBase))
	}
	q.dsSim[j] = b.storedWeight(q.pSim[j] * (q.dpSim[j] - q.simDelta))
	if b.rules.LowWeights {
		q.dsError[j] += (weighted(p, b.uP) + b.eta) * size
		q.dsError[j] += b.uP*(math.Abs(q.ds[j])+q.dsError[j]) + b.eta*math.Max(1, 1/math.Abs(b.scale))
	}
}
