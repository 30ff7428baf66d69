// Package attention is the truth of attention, softmax(scale * q k^T) v, and of its gradients, with heads
// that may share keys and values.
package attention

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// attention is one case of o = softmax(scale * q k^T) v: q[batch, headsQ, seqQ, n], k[batch, headsKV, seqKV,
// n], v[batch, headsKV, seqKV, nV].
type attention struct {
	rules                               truth.Contract
	d                                   op.DType
	q, k, v                             tensor.Tensor
	batch, headsQ, headsKV, seqQ, seqKV int64
	n, nV                               int64 // head_dim and head_dim_v
	scale                               float64
	causal                              bool
	block                               int64   // of tokens that a key stands for; 0: a key is one token
	gD, gV, gK                          float64 // growth of sums over head_dim, head_dim_v and keys
	// the error of storing P: relative, and absolute below its normal range
	uP, eta float64
	keys    []int64 // 0 ... seqKV-1
	simOnly bool    // R and T are not needed
}

// tf32 reports whether fp32 operands of products are read as tf32.
func (a *attention) tf32() bool { return a.rules.TF32 && a.d == op.FP32 }

// operands returns values as the contract's products see them.
func (a *attention) operands(x []float64) []float64 {
	if !a.tf32() {
		return x
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = truth.TF32(v)
	}
	return y
}

func attentionOf(k *truth.Request) (*attention, error) {
	q, err := k.Tensor("q")
	key, errK := k.Tensor("k")
	v, errV := k.Tensor("v")
	if err = truth.FirstError(err, errK, errV); err != nil {
		return nil, err
	}
	if len(q.Shape) != 4 || len(key.Shape) != 4 || len(v.Shape) != 4 || q.Shape[3] == 0 || v.Shape[3] == 0 {
		return nil, fmt.Errorf("q has shape %v, k %v and v %v: want four dims each, the last not empty",
			q.Shape, key.Shape, v.Shape)
	}
	scale, ok := k.Attrs.Lookup("scale")
	if !ok {
		return nil, fmt.Errorf("attribute scale is missing")
	}
	a := &attention{
		rules: k.Rules, d: q.DType, q: q, k: key, v: v, batch: q.Shape[0], headsQ: q.Shape[1],
		headsKV: key.Shape[1],
		seqQ:    q.Shape[2], seqKV: key.Shape[2], n: q.Shape[3], nV: v.Shape[3], scale: scale.Number,
		causal:  k.Attrs.Number("causal") != 0,
		block:   int64(k.Attrs.Number("block_size")),
		simOnly: k.SimOnly && !k.Rules.EveryStep,
	}
	if a.headsKV == 0 || a.headsQ%a.headsKV != 0 || key.Shape[0] != a.batch || key.Shape[3] != a.n ||
		!slices.Equal(v.Shape[:3], key.Shape[:3]) {
		return nil, fmt.Errorf("q has shape %v, k %v, v %v: want equal batch and head_dim, heads that "+
			"divide, and as many values as keys", q.Shape, key.Shape, v.Shape)
	}
	a.gD, a.gV, a.gK = k.Growth(a.n), k.Growth(a.nV), k.Growth(a.seqKV)
	a.uP, a.eta = judge.U32, judge.Tiny
	switch {
	case a.rules.LowWeights || a.rules.EveryStep:
		a.uP = truth.Unit(a.d)
		if a.d == op.FP16 {
			a.eta = truth.HalfSubnormal(op.FP16)
		}
	case a.tf32():
		a.uP = 2 * judge.UTF // P and v are rounded before they are multiplied
	}
	a.keys = truth.Rest(nil, a.seqKV)
	return a, nil
}

// visible returns the number of keys that query i sees: causal is aligned bottom-right, and a key that stands
// for a block of tokens is seen from the block's last token on.
func (a *attention) visible(i int64) int64 {
	if a.block > 0 {
		return min(a.seqKV, (i+1)/a.block)
	}
	if !a.causal {
		return a.seqKV
	}
	return max(0, min(a.seqKV, i+1+a.seqKV-a.seqQ))
}

// The rounding errors of an output's elements are those of the weights that they share: with fewer than
// fewPairs pairs of a query and a key that it sees, in a head, or fewer than fewKeys keys, their root mean
// square is no statistic. A block of 16 rows, the smallest of G4, has as many. All elements of a gradient
// also share the rounding error of each query's delta: fewer than fewQueries queries that see a key's head
// are no statistic either. docs/judge.md has the measurements.
const (
	fewPairs   = 256
	fewKeys    = 16
	fewQueries = 16
)

// Few reports whether a key's head, which so many query heads share, is seen by too few pairs, keys or, for
// gradients, queries for G4.
func Few(pass op.Pass, group, queries, keys int64, causal bool) bool {
	a := attention{headsQ: group, headsKV: 1, seqQ: queries, seqKV: keys, causal: causal}
	if pass == op.Backward {
		return a.fewForGradients()
	}
	return a.few()
}

// few reports whether a head has too few pairs or keys for G4.
func (a *attention) few() bool {
	pairs := int64(0)
	for i := a.seqQ - 1; i >= 0 && pairs < fewPairs; i-- {
		pairs += a.visible(i)
	}
	return pairs < fewPairs || a.seqKV < fewKeys
}

// fewForGradients reports whether a key's head is seen by too few pairs, keys or queries for G4 of gradients.
func (a *attention) fewForGradients() bool {
	return a.few() || a.seqQ*(a.headsQ/a.headsKV) < fewQueries
}

// kvHead returns the key head (over the whole batch) of a query head (over the whole batch).
func (a *attention) kvHead(head int64) int64 {
	b, h := head/a.headsQ, head%a.headsQ
	return b*a.headsKV + h/(a.headsQ/a.headsKV)
}

// oneHead is a query head (over the whole batch) with the keys and values that serve it, in fp64 and as the
// contract's products see them.
type oneHead struct {
	*attention
	head             int64
	k, v, simK, simV []float64
	sizes            []float64 // row j: the sum of |v| over the first j keys
}

func (a *attention) atHead(head int64) *oneHead {
	h := &oneHead{attention: a, head: head}
	h.k, h.v = headOf(a.k, a.kvHead(head)), headOf(a.v, a.kvHead(head))
	h.simK, h.simV = a.operands(h.k), a.operands(h.v)
	h.sizes = make([]float64, (a.seqKV+1)*a.nV)
	for i, v := range h.v {
		h.sizes[int64(i)+a.nV] = h.sizes[i] + math.Abs(v)
	}
	return h
}

// headOf decodes one head (over the whole batch) of a tensor [batch, heads, seq, dim].
func headOf(t tensor.Tensor, head int64) []float64 {
	seq, n := t.Shape[2], t.Shape[3]
	values := make([]float64, seq*n)
	for i := range seq {
		t.DecodeRow(values[i*n:(i+1)*n], head*seq+i, 0)
	}
	return values
}

// keyed returns row j of keys, and valued of values.
func (h *oneHead) keyed(x []float64, j int64) []float64  { return x[j*h.n : (j+1)*h.n] }
func (h *oneHead) valued(x []float64, j int64) []float64 { return x[j*h.nV : (j+1)*h.nV] }

// queried returns the row of query i of this head.
func (h *oneHead) queried(t tensor.Tensor, i int64) []float64 {
	row := make([]float64, t.Shape[3])
	t.DecodeRow(row, h.head*h.seqQ+i, 0)
	return row
}

// scores are one query against some of the keys it sees: s = scale*q.k, the same of absolute values, and of
// the operands the contract's products see.
type scores struct {
	query, simQuery []float64
	s, abs, sim     []float64
	max, simMax     float64
}

func (h *oneHead) scores(i int64, keys []int64, into *scores) {
	into.query = h.queried(h.q, i)
	into.simQuery = h.operands(into.query)
	into.s, into.abs, into.max = resized(into.s, len(keys)), resized(into.abs, len(keys)), math.Inf(-1)
	for x, j := range keys {
		dot, abs := truth.Dots(into.query, h.keyed(h.k, j))
		s := h.scale * dot
		into.s[x] = s
		into.abs[x] = math.Abs(h.scale) * abs
		into.max = math.Max(into.max, s)
	}
	if !h.tf32() {
		into.sim, into.simMax = into.s, into.max
		return
	}
	into.sim, into.simMax = make([]float64, len(keys)), math.Inf(-1)
	for x, j := range keys {
		dot, _ := truth.Dots(into.simQuery, h.keyed(h.simK, j))
		into.sim[x] = h.scale * dot
		into.simMax = math.Max(into.simMax, into.sim[x])
	}
}

// resized returns x with n elements, whatever they are; its memory is used again where there is enough.
func resized(x []float64, n int) []float64 { return slices.Grow(x[:0], n)[:n] }

// weightErrorFP32 returns the relative error of exp(s - base) in fp32, exp(eps) - 1 with
//
//	eps = u32*(g(D)*scale*(|q|.|k|) + 4|s| + 4|s-base|) + 8*u32
//
// the product, the scaling, the exponent and exp itself.
func (a *attention) weightErrorFP32(s, abs, base float64) float64 {
	return Grown(a.exponentError(s, abs, base))
}

func (a *attention) exponentError(s, abs, base float64) float64 {
	return ExponentError(a.gD, s, abs, base)
}

// ExponentError returns the error of s - base in fp32, that of exp included, of a score s = scale*q.k whose
// sum of absolute values is abs, in a sum of that growth: eps above.
func ExponentError(growth, s, abs, base float64) float64 {
	return judge.U32*(growth*abs+4*math.Abs(s)+4*math.Abs(s-base)) + 8*judge.U32
}

// weightError is weightErrorFP32 under the contract: tf32 drops low bits of both operands first, +
// 2*u_tf32*scale*(|q|.|k|) in the exponent.
func (a *attention) weightError(s, abs, base float64) float64 { return Grown(a.shift(s, abs, base)) }

func (a *attention) shift(s, abs, base float64) float64 {
	if a.tf32() {
		return a.exponentError(s, abs, base) + 2*judge.UTF*abs
	}
	return a.exponentError(s, abs, base)
}

// Grown returns exp(eps) - 1, or the slightly larger eps + eps^2 where that is cheaper. It stays finite: a
// value above 1e150 counts as unlimited, and products with it must not turn 0 into NaN.
func Grown(eps float64) float64 {
	if eps < 1e-3 {
		return eps + eps*eps
	}
	return math.Min(math.Expm1(eps), 1e150)
}

// weightedSums is a vector that is a weighted sum of vectors: of its truth, its error bounds and the
// simulated contract.
type weightedSums truth.Row

// at returns the part of vector j, each having n elements.
func (g weightedSums) at(j, n int64) weightedSums { return weightedSums(truth.Row(g).Part(j, n)) }

// add adds weight*x to R, t*|x| to T, sim*simX to Sim and, with low, tFP32*|x| to TFP32.
func (g weightedSums) add(weight, t, tFP32, sim float64, low bool, x, simX []float64) {
	r, allowed, simulated := g.R[:len(x)], g.T[:len(x)], g.Sim[:len(x)]
	simX = simX[:len(x)]
	if !low {
		for i, v := range x {
			r[i] += float64(weight * v)
			allowed[i] += float64(t * math.Abs(v))
			simulated[i] += float64(sim * simX[i])
		}
		return
	}
	allowedFP32 := g.TFP32[:len(x)]
	for i, v := range x {
		size := math.Abs(v)
		r[i] += float64(weight * v)
		allowed[i] += float64(t * size)
		allowedFP32[i] += float64(tFP32 * size)
		simulated[i] += float64(sim * simX[i])
	}
}

// Forward returns the truth of o [batch, heads, seqQ, nV] and lse [batch, heads, seqQ], given q, k and v.
func Forward(k *truth.Request) ([]judge.Target, error) {
	a, err := attentionOf(k)
	if err != nil {
		return nil, err
	}
	shape := []int64{a.batch, a.headsQ, a.seqQ, a.nV}
	rows := a.batch * a.headsQ * a.seqQ
	chosen := k.Sample.Choose(rows)
	o := k.Target("o", a.d, shape, chosen)
	lse := k.RowStatistic("lse", rows, chosen)
	lse.Shape = shape[:3]
	o.Independent, lse.Independent = o.Independent && !a.few(), lse.Independent && !a.few()
	for _, part := range perHead(chosen, a.batch*a.headsQ, a.seqQ) {
		h := a.atHead(part.head)
		parallel.EachWith(int64(len(part.rows)),
			func() *queryRow { return new(queryRow) }, func(m *queryRow, x int64) {
				i := part.first + x
				h.scores(part.rows[x], h.keys[:h.visible(part.rows[x])], &m.scores)
				f := h.forwardRow(m, truth.RowOf(o, i, a.nV))
				lse.R[i], lse.T[i], lse.TFP32[i], lse.Sim[i] = f.r, f.t, f.tFP32, f.sim
			})
	}
	return []judge.Target{o, lse}, nil
}

// headRows are the judged rows of one head: the first is the first-th of all that are judged.
type headRows struct {
	head, first int64
	rows        []int64 // within the head
}

// perHead groups rows (nil: all) of heads of seq rows each; heads without a row are left out.
func perHead(rows []int64, heads, seq int64) []headRows {
	var parts []headRows
	if rows == nil {
		all := truth.Rest(nil, seq)
		for h := range heads {
			parts = append(parts, headRows{h, h * seq, all})
		}
		return parts
	}
	for i, r := range rows {
		if len(parts) == 0 || parts[len(parts)-1].head != r/seq {
			parts = append(parts, headRows{head: r / seq, first: int64(i)})
		}
		last := &parts[len(parts)-1]
		last.rows = append(last.rows, r%seq)
	}
	return parts
}

// logSumExp is lse of one row.
type logSumExp struct{ r, t, tFP32, sim float64 }

// queryRow is one query with its weights, against every key that it sees. It is working memory, reused for
// each query.
type queryRow struct {
	scores
	p, pSim              []float64 // exp(s - max), of the simulated scores too; their sum is l
	l, simL              float64
	spread, spreadFP32   float64 // sum_j P_j*eps_j
	revived              float64 // by how much weights that are 0 may surpass 1 before they are normalised
	weights, weightsFP32 []float64
	backing              []float64
}

// weigh fills the weights.
func (m *queryRow) weigh(tf32 bool) {
	m.p = resized(m.p, len(m.s))
	for j, s := range m.s {
		m.p[j] = math.Exp(s - m.max)
	}
	m.l = truth.SumOf(len(m.p), func(j int) float64 { return m.p[j] })
	m.pSim, m.simL = m.p, m.l
	if tf32 {
		m.pSim = make([]float64, len(m.sim))
		for j, s := range m.sim {
			m.pSim[j] = math.Exp(s - m.simMax)
		}
		m.simL = truth.SumOf(len(m.pSim), func(j int) float64 { return m.pSim[j] })
	}
}

// forwardRow fills one row of o (which is 0) and returns its lse. With w = P.|v| and the weights' errors eps
// the error bound is
//
//	T = u_P*w + eta*sum|v| + sum_j P_j*eps_j*|v_j| + |R|*(sum_j P_j*eps_j + u32*g(Sk)) + u32*g(Sk)*w
//	    + Sk*2^-149
//
// storing P, its underflow (P may be stored before it is divided by l >= 1, or after), the weights in the
// numerator and in the sum l, the sum over the keys; never more than max_j |v_j| + |R|, as o is a weighted
// mean whatever the weights. For lse
//
//	T = sum_j P_j*eps_j + u32*(|m| + g(Sk) + 8 + 2|log l|), the sum at most max_j eps_j
//
// where what a weight below fp64's range may become counts whole: nothing normalises it.
//
// A row that sees no key has o = 0 and lse = -inf, exactly.
func (h *oneHead) forwardRow(m *queryRow, out truth.Row) logSumExp {
	if len(m.s) == 0 {
		return logSumExp{r: math.Inf(-1), sim: math.Inf(-1)}
	}
	m.weigh(h.tf32())
	if h.simOnly {
		for j, e := range m.pSim {
			truth.Axpy(out.Sim, h.storedWeight(e)/m.simL, h.valued(h.simV, int64(j)))
		}
		copy(out.R, out.Sim) // R is not needed, but must be of the same class
		truth.RoundRow(out.Sim, out.Sim, h.d)
		lse := m.simMax + math.Log(m.simL)
		return logSumExp{r: lse, sim: tensor.Round(op.FP32, lse, false)}
	}
	low := h.uP != judge.U32
	m.backing = resized(m.backing, 2*int(h.nV))
	clear(m.backing)
	m.weights, m.weightsFP32 = m.backing[:h.nV], m.backing[h.nV:]
	sums := weightedSums{out.R, m.weights, m.weightsFP32, out.Sim}
	m.spread, m.spreadFP32, m.revived = 0, 0, 0
	shift, lse := h.largestShift(m.scores), m.max+math.Log(m.l)
	for j, e := range m.p {
		share, eps := e/m.l, h.weightError(m.s[j], m.abs[j], m.max)
		lost := h.revived(share, m.s[j]-lse, 2*shift)
		m.spread += truth.Weighted(share, eps) + lost
		if lost > 0 {
			m.revived += Grown(math.Max(m.s[j]-lse+2*shift, 0))
		}
		t, tFP32 := truth.Weighted(share, eps+h.uP+judge.U32*h.gK)+lost, 0.0
		if low {
			epsFP32 := h.weightErrorFP32(m.s[j], m.abs[j], m.max)
			m.spreadFP32 += truth.Weighted(share, epsFP32)
			tFP32 = truth.Weighted(share, epsFP32+judge.U32+judge.U32*h.gK)
		}
		sums.add(share, t, tFP32, h.storedWeight(m.pSim[j])/m.simL, low, h.valued(h.v, int64(j)),
			h.valued(h.simV, int64(j)))
	}
	truth.RoundRow(out.Sim, out.Sim, h.d)
	if !low {
		m.spreadFP32, m.weightsFP32 = m.spread, m.weights
	}
	h.allow(m, out)
	if h.rules.EveryStep {
		h.eagerRow(m, out)
	}
	f := logSumExp{r: lse}
	own := judge.U32 * (math.Abs(m.max) + h.gK + 8 + 2*math.Abs(math.Log(m.l)))
	// the error of a sum's logarithm is at most that of its exponents
	f.t, f.tFP32, f.sim = math.Min(m.spread+m.revived, shift)+own, math.Min(m.spreadFP32, shift)+own,
		tensor.Round(op.FP32, m.simMax+math.Log(m.simL), false)
	return f
}

// revived is truth.Revived of a weight, which is stored and normalised like any other. Under tf32 it is left
// as it is: operands that lose more than that decide there.
func (a *attention) revived(p, logP, shift float64) float64 {
	lost := truth.Revived(p, logP, shift)
	if a.tf32() {
		return lost
	}
	return lost + lost*(a.uP+judge.U32*a.gK)
}

// allow fills the error bounds of a row of o.
func (h *oneHead) allow(m *queryRow, out truth.Row) {
	keys := float64(len(m.p))
	for c, sizes := range h.valued(h.sizes, int64(len(m.p))) {
		size := math.Abs(out.R[c])
		out.T[c] = m.weights[c] + h.eta*sizes + size*(m.spread+judge.U32*h.gK) + truth.Subnormal*keys
		out.TFP32[c] = m.weightsFP32[c] + judge.Tiny*sizes + size*(m.spreadFP32+judge.U32*h.gK) +
			truth.Subnormal*keys
	}
	if !(m.spread < 0.5) {
		h.capRow(int64(len(m.p)), out)
	}
}

// largestShift returns the largest error of an exponent of a row.
func (a *attention) largestShift(sc scores) float64 {
	largest := 0.0
	for j, s := range sc.s {
		largest = math.Max(largest, a.shift(s, sc.abs[j], sc.max))
	}
	return largest
}

// capRow limits the error bounds of a row whose scores are so large that their rounding decides: a weighted
// mean of the visible v stays among them.
func (h *oneHead) capRow(n int64, out truth.Row) {
	for c := range out.R {
		largest := 0.0
		for j := range n {
			largest = math.Max(largest, math.Abs(h.valued(h.v, j)[c]))
		}
		limit := largest*(1+2*judge.U32*h.gK+h.uP) + math.Abs(out.R[c])
		out.T[c], out.TFP32[c] = math.Min(out.T[c], limit), math.Min(out.TFP32[c], limit)
	}
}

// storedWeight returns an unnormalised weight as the contract stores it.
func (a *attention) storedWeight(e float64) float64 {
	if a.rules.LowWeights {
		return tensor.Round(a.d, e, false)
	}
	if a.tf32() {
		return truth.TF32(e)
	}
	return e
}
