package catalog

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

var _ = register("flash_attention", truth{
	forward: attentionForward, backward: attentionBackward, permits: []string{"fp32", "p16", "tf32", "eager"},
})

// attention is one case of o = softmax(scale * q k^T) v with its tensors in fp64: q[batch, headsQ, seqQ, dim], k and v[batch, headsKV, seqKV, dim].
type attention struct {
	rules                                  Contract
	d                                      op.DType
	q, k, v                                []float64
	batch, headsQ, headsKV, seqQ, seqKV, n int64 // n is head_dim
	scale                                  float64
	causal                                 bool
	gD, gK                                 float64 // growth of sums over head_dim and over the keys
	uP, eta                                float64 // what storing P costs: relative, and absolute below its normal range

	simQ, simK, simV []float64 // the operands as the contract's products see them: rounded to tf32, or the same
}

// tf32 says whether fp32 operands of products are rounded to tf32.
func (a *attention) tf32() bool { return a.rules.TF32 && a.d == op.FP32 }

// tf32Format has fp32's range and 11 significant bits.
var tf32Format = tensor.Format{P: 11, EMin: -126, Max: math.MaxFloat32, Infinity: true}

// operands are values as the contract's products see them.
func (a *attention) operands(x []float64) []float64 {
	if !a.tf32() {
		return x
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = tf32Format.Round(v, false)
	}
	return y
}

func (k *call) attention() (*attention, error) {
	in, err := k.values("q", "k", "v")
	if err != nil {
		return nil, err
	}
	q, _ := k.tensor("q")
	key, _ := k.tensor("k")
	v, _ := k.tensor("v")
	if len(q.Shape) != 4 || len(key.Shape) != 4 || q.Shape[3] == 0 {
		return nil, fmt.Errorf("q has shape %v and k %v: want four dims each, the last not empty", q.Shape, key.Shape)
	}
	scale, ok := k.Attrs.Lookup("scale")
	if !ok {
		return nil, fmt.Errorf("attribute scale is missing")
	}
	a := &attention{
		rules: k.rules, d: q.DType, q: in[0], k: in[1], v: in[2], batch: q.Shape[0], headsQ: q.Shape[1], headsKV: key.Shape[1],
		seqQ: q.Shape[2], seqKV: key.Shape[2], n: q.Shape[3], scale: scale.Number, causal: k.Attrs.Number("causal") != 0,
	}
	if a.headsKV == 0 || a.headsQ%a.headsKV != 0 || key.Shape[0] != a.batch || key.Shape[3] != a.n || !slices.Equal(v.Shape, key.Shape) {
		return nil, fmt.Errorf("q has shape %v, k %v, v %v: want equal batch and head_dim, heads that divide, and v like k", q.Shape, key.Shape, v.Shape)
	}
	a.gD, a.gK = k.growth(a.n), k.growth(a.seqKV)
	a.uP, a.eta = judge.U32, judge.Tiny
	switch {
	case a.rules.LowWeights || a.rules.EveryStep:
		a.uP = unit(a.d)
		if a.d == op.FP16 {
			a.eta = halfSubnormal(op.FP16)
		}
	case a.tf32():
		a.uP = 2 * judge.UTF // P and v are rounded before they are multiplied
	}
	a.simQ, a.simK, a.simV = a.operands(a.q), a.operands(a.k), a.operands(a.v)
	return a, nil
}

// visible is how many keys query i sees: causal is aligned bottom-right.
func (a *attention) visible(i int64) int64 {
	if !a.causal {
		return a.seqKV
	}
	return max(0, min(a.seqKV, i+1+a.seqKV-a.seqQ))
}

// query and keyed give row i of a query head, and row j of the key head that serves it.
func (a *attention) query(x []float64, head, i int64) []float64 {
	at := (head*a.seqQ + i) * a.n
	return x[at : at+a.n]
}

func (a *attention) keyed(x []float64, head, j int64) []float64 {
	at := (a.kvHead(head)*a.seqKV + j) * a.n
	return x[at : at+a.n]
}

// kvHead is the key head (over the whole batch) of a query head (over the whole batch).
func (a *attention) kvHead(head int64) int64 {
	b, h := head/a.headsQ, head%a.headsQ
	return b*a.headsKV + h/(a.headsQ/a.headsKV)
}

// scores are one query against the keys it sees: s = scale*q.k, the same of absolute values, and of the operands the contract's products see.
type scores struct {
	s, abs, sim []float64
	max, simMax float64
}

func (a *attention) scores(head, i int64, into *scores) {
	n := a.visible(i)
	into.s, into.abs, into.max = into.s[:0], into.abs[:0], math.Inf(-1)
	q := a.query(a.q, head, i)
	for j := range n {
		dot, abs := dots(q, a.keyed(a.k, head, j))
		s := a.scale * dot
		into.s = append(into.s, s)
		into.abs = append(into.abs, math.Abs(a.scale)*abs)
		into.max = math.Max(into.max, s)
	}
	into.sim, into.simMax = into.s, into.max
	if !a.tf32() {
		return
	}
	into.sim, into.simMax = make([]float64, n), math.Inf(-1)
	for j := range into.sim {
		dot, _ := dots(a.query(a.simQ, head, i), a.keyed(a.simK, head, int64(j)))
		into.sim[j] = a.scale * dot
		into.simMax = math.Max(into.simMax, into.sim[j])
	}
}

// dots are x.y and |x|.|y|.
func dots(x, y []float64) (dot, abs float64) {
	y = y[:len(x)]
	var dot1, abs1 float64
	n := len(x) &^ 1
	for i := 0; i < n; i += 2 {
		p, p1 := float64(x[i]*y[i]), float64(x[i+1]*y[i+1])
		dot += p
		dot1 += p1
		abs += math.Abs(p)
		abs1 += math.Abs(p1)
	}
	if n < len(x) {
		p := float64(x[n] * y[n])
		dot += p
		abs += math.Abs(p)
	}
	return dot + dot1, abs + abs1
}

// weightErrorFP32 is the relative error of exp(s - base) in fp32, exp(eps) - 1 with
//
//	eps = u32*(g(D)*scale*(|q|.|k|) + 4|s| + 4|s-base|) + 8*u32
//
// the product, the scaling, the exponent and exp itself.
func (a *attention) weightErrorFP32(s, abs, base float64) float64 {
	return growth(a.exponentError(s, abs, base))
}

func (a *attention) exponentError(s, abs, base float64) float64 {
	return judge.U32*(a.gD*abs+4*math.Abs(s)+4*math.Abs(s-base)) + 8*judge.U32
}

// weightError is the same under the contract: tf32 rounds both operands of the product first, + 2*u_tf32*scale*(|q|.|k|) in the exponent.
func (a *attention) weightError(s, abs, base float64) float64 {
	eps := a.exponentError(s, abs, base)
	if a.tf32() {
		eps += 2 * judge.UTF * abs
	}
	return growth(eps)
}

// growth is exp(eps) - 1, or the slightly larger eps + eps^2 where that is cheaper. It stays finite: what is above 1e150 is without limit,
// and products with it must not turn 0 into NaN.
func growth(eps float64) float64 {
	if eps < 1e-3 {
		return eps + eps*eps
	}
	return math.Min(math.Expm1(eps), 1e150)
}

// axpy adds w*|x| or w*x to out.
func axpy(out []float64, w float64, x []float64) {
	x = x[:len(out)]
	for i := range out {
		out[i] += float64(w * x[i])
	}
}

func axpyAbs(out []float64, w float64, x []float64) {
	x = x[:len(out)]
	for i := range out {
		out[i] += float64(w * math.Abs(x[i]))
	}
}

func attentionForward(k *call) ([]judge.Target, error) {
	a, err := k.attention()
	if err != nil {
		return nil, err
	}
	shape := []int64{a.batch, a.headsQ, a.seqQ, a.n}
	rows := a.batch * a.headsQ * a.seqQ
	chosen := k.sample.choose(rows)
	o := k.target("o", a.d, shape, chosen)
	lse := k.rowStatistic("lse", rows, chosen)
	lse.Shape = shape[:3]
	eachRow(chosen, rows, func(i, r int64) {
		f := a.forwardRow(r/a.seqQ, r%a.seqQ, rowOf(o, i, a.n))
		lse.R[i], lse.T[i], lse.TFP32[i], lse.Sim[i] = f.r, f.t, f.tFP32, f.sim
	})
	return []judge.Target{o, lse}, nil
}

// logSumExp is lse of one row.
type logSumExp struct{ r, t, tFP32, sim float64 }

// forwardRow fills one row of o and gives its lse. With w = P.|v| and the weights' errors eps the allowance is
//
//	T = u_P*w + eta*sum|v|/l + sum_j P_j*eps_j*|v_j| + |R|*(sum_j P_j*eps_j + u32*g(Sk)) + u32*g(Sk)*w + Sk*2^-149
//
// storing P, its underflow, the weights in the numerator and in the sum l, the sum over the keys; never more than max_j |v_j| + |R|, as o is a
// weighted mean whatever the weights. For lse
//
//	T = sum_j P_j*eps_j + u32*(|m| + g(Sk) + 8 + 2|log l|)
//
// A row that sees no key has o = 0 and lse = -inf, exactly.
func (a *attention) forwardRow(head, i int64, out row) logSumExp {
	var sc scores
	a.scores(head, i, &sc)
	if len(sc.s) == 0 {
		return logSumExp{r: math.Inf(-1), sim: math.Inf(-1)}
	}
	p := make([]float64, len(sc.s))
	for j, s := range sc.s {
		p[j] = math.Exp(s - sc.max)
	}
	l := sumOf(len(p), func(j int) float64 { return p[j] })
	weights, sizes, spread, spreadFP32 := make([]float64, a.n), make([]float64, a.n), 0.0, 0.0
	weightsFP32 := weights
	low := a.uP != judge.U32
	if low {
		weightsFP32 = make([]float64, a.n)
	}
	for j, e := range p {
		v := a.keyed(a.v, head, int64(j))
		share, eps := e/l, a.weightError(sc.s[j], sc.abs[j], sc.max)
		spread += weighted(share, eps)
		axpy(out.R, share, v)
		axpyAbs(weights, weighted(share, eps+a.uP+judge.U32*a.gK), v)
		axpyAbs(sizes, 1, v)
		if low {
			epsFP32 := a.weightErrorFP32(sc.s[j], sc.abs[j], sc.max)
			spreadFP32 += weighted(share, epsFP32)
			axpyAbs(weightsFP32, weighted(share, epsFP32+judge.U32+judge.U32*a.gK), v)
		}
	}
	simL := a.simulateRow(head, sc, out.Sim)
	if !low {
		spreadFP32 = spread
	}
	for c := range out.R {
		size := math.Abs(out.R[c])
		out.T[c] = weights[c] + a.eta*sizes[c]/l + size*(spread+judge.U32*a.gK) + subnormal*float64(len(p))
		out.TFP32[c] = weightsFP32[c] + judge.Tiny*sizes[c]/l + size*(spreadFP32+judge.U32*a.gK) + subnormal*float64(len(p))
	}
	if !(spread < 0.5) {
		a.capRow(head, int64(len(p)), out)
	}
	if a.rules.EveryStep {
		for j := range p {
			p[j] /= l
		}
		a.eagerRow(head, i, sc, p, out)
	}
	f := logSumExp{r: sc.max + math.Log(l)}
	own := judge.U32 * (math.Abs(sc.max) + a.gK + 8 + 2*math.Abs(math.Log(l)))
	shift := a.largestShift(sc) // the logarithm of a sum is off by no more than its exponents are
	f.t, f.tFP32, f.sim = math.Min(spread, shift)+own, math.Min(spreadFP32, shift)+own, tensor.Round(op.FP32, sc.simMax+math.Log(simL), false)
	return f
}

// largestShift is the largest error of an exponent of a row.
func (a *attention) largestShift(sc scores) float64 {
	largest := 0.0
	for j, s := range sc.s {
		shift := a.exponentError(s, sc.abs[j], sc.max)
		if a.tf32() {
			shift += 2 * judge.UTF * sc.abs[j]
		}
		largest = math.Max(largest, shift)
	}
	return largest
}

// capRow limits the allowances of a row whose scores are so large that their rounding decides: a weighted mean of the visible v stays among them.
func (a *attention) capRow(head, n int64, out row) {
	for c := range out.R {
		largest := 0.0
		for j := range n {
			largest = math.Max(largest, math.Abs(a.keyed(a.v, head, j)[c]))
		}
		limit := largest*(1+2*judge.U32*a.gK+a.uP) + math.Abs(out.R[c])
		out.T[c], out.TFP32[c] = math.Min(out.T[c], limit), math.Min(out.TFP32[c], limit)
	}
}

// simulateRow is a row of o with rounding only where the contract has it; it gives the sum l of the weights.
func (a *attention) simulateRow(head int64, sc scores, o []float64) (l float64) {
	l = sumOf(len(sc.sim), func(j int) float64 { return math.Exp(sc.sim[j] - sc.simMax) })
	for j, s := range sc.sim {
		axpy(o, a.storedWeight(math.Exp(s-sc.simMax))/l, a.keyed(a.simV, head, int64(j)))
	}
	roundRow(o, o, a.d)
	return l
}

// storedWeight is an unnormalised weight as the contract stores it.
func (a *attention) storedWeight(e float64) float64 {
	if a.rules.LowWeights {
		return tensor.Round(a.d, e, false)
	}
	if a.tf32() {
		return tf32Format.Round(e, false)
	}
	return e
}
