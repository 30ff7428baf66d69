package attention

import (
	"math"

	"triad/internal/judge"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// The written composition of attention in a 16-bit dtype: q k^T, its scaled value, P and o are each stored in
// the dtype, and in the backward dP, P*dP, dS and its scaled value too.

// eagerWeights are the stored weights of one query with their largest distances from the exact ones.
type eagerWeights struct {
	stored []float64
	// relative: exp(2 max_j e_j) - 1 + 2u, with e_j = eps_j + 2u|s_j| + the loss of storing below the normal
	// range
	off     float64
	shift   float64 // 2 max_j e_j
	u, tiny float64
}

// error returns the largest distance of the stored weight from p, whose logarithm is logP: the weight lies in
// [0, 1] whatever happened to the scores.
func (w eagerWeights) error(p, logP float64) float64 {
	return math.Min(truth.Weighted(p, w.off)+truth.Revived(p, logP, w.shift)+w.tiny, 1)
}

func (a *oneHead) eagerWeights(sc scores) eagerWeights {
	w := eagerWeights{stored: make([]float64, len(sc.s)), u: truth.Unit(a.d), tiny: truth.HalfSubnormal(a.d)}
	low := func(x float64) float64 { return tensor.Round(a.d, x, false) }
	worst, largest := 0.0, math.Inf(-1)
	for j, s := range sc.s {
		worst = math.Max(worst, a.weightError(s, sc.abs[j], sc.max)+2*w.u*math.Abs(s)+
			w.tiny*(1+math.Abs(a.scale)))
		dot, _ := truth.Dots(sc.query, a.keyed(a.k, int64(j)))
		w.stored[j] = low(a.scale * low(dot))
		largest = math.Max(largest, w.stored[j])
	}
	w.shift = 2 * worst
	w.off = math.Expm1(w.shift) + 2*w.u
	for j, s := range w.stored {
		w.stored[j] = math.Exp(s - largest)
	}
	l := truth.SumOf(len(w.stored), func(j int) float64 { return w.stored[j] })
	for j, e := range w.stored {
		w.stored[j] = low(e / l)
	}
	return w
}

// eagerRow replaces T and Sim of a row of o by those of the composition:
//
//	T = sum_j error(P_j)*|v_j| + u|R| + the fp32 terms, never more than max_j |v_j| + |R|
func (a *oneHead) eagerRow(m *queryRow, out truth.Row) {
	w := a.eagerWeights(m.scores)
	sim, largest, extra := make([]float64, a.nV), make([]float64, a.nV), make([]float64, a.nV)
	lse := m.max + math.Log(m.l)
	for j, e := range m.p {
		v := a.valued(a.v, int64(j))
		truth.AxpyAbs(extra, w.error(e/m.l, m.s[j]-lse), v)
		truth.Axpy(sim, w.stored[j], v)
		for c := range largest {
			largest[c] = math.Max(largest[c], math.Abs(v[c]))
		}
	}
	for c := range out.R {
		size := math.Abs(out.R[c])
		out.T[c] = math.Min(extra[c]+w.u*size+out.TFP32[c], largest[c]+size)
		out.Sim[c] = tensor.Round(a.d, sim[c], false)
	}
}

// eagerGradients replaces the error bounds and the simulated values of one query's P and dS by those of the
// composition. dP is stored; the softmax backward stores P*dP, sums it to delta and stores dS; the scaling
// stores it once more:
//
//	T_dP  = u|dP| + tiny + u32*g(Dv)*|dO|.|v|
//	T_pdP = |dP|*error(P) + (P + error(P))*T_dP + u*|P*dP| + tiny
//	T_dS  = T_pdP + |delta|*error(P) + (P + error(P))*T_delta, and twice + u*(|dS| + T_dS) + tiny
//
// T_delta is the sum of T_pdP and of fp32's errors, plus the distance of sum P*dP from the dO.o of the truth:
// a given o has been rounded, and the composition does not use it.
func (b *gradients) eagerGradients(h *oneHead, q *backRow) {
	a, w := b.attention, h.eagerWeights(q.scores)
	low := func(x float64) float64 { return tensor.Round(a.d, x, false) }
	n := len(q.p)
	product, simProduct := make([]float64, n), make([]float64, n)
	delta, deltaError, simDelta := 0.0, 0.0, 0.0
	errorOf := func(j int) float64 { // of dP
		return w.u*math.Abs(q.dp[j]) + w.tiny + q.sumError(j)
	}
	for j, p := range q.p {
		off := w.error(p, q.s[j]-q.base)
		product[j] = math.Abs(q.dp[j])*off + (p+off)*errorOf(j) + w.u*p*math.Abs(q.dp[j]) + w.tiny
		simProduct[j] = low(w.stored[j] * low(q.dp[j]))
		delta += float64(p * q.dp[j])
		deltaError += product[j] + judge.U32*a.gK*p*math.Abs(q.dp[j])
		simDelta += simProduct[j]
	}
	deltaError += math.Abs(delta - q.deltaR)
	for j, p := range q.p {
		off := w.error(p, q.s[j]-q.base)
		size := math.Abs(q.ds[j])
		t := product[j] + math.Abs(delta)*off + (p+off)*deltaError
		t += w.u*(size+t) + w.tiny
		t += w.u*(size+t) + w.tiny*math.Max(1, 1/math.Abs(a.scale))
		q.dsError[j] = t + q.dsErrorFP32[j]
		q.pError[j] = off + q.pErrorFP32[j]
		q.pStored[j] = w.stored[j]
		scaled := low(a.scale * low(simProduct[j]-w.stored[j]*simDelta))
		q.dsSim[j] = scaled / a.scale
	}
}
