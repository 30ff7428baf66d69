package linearcrossentropy

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// fewTokens: their rounding errors, which all elements of their gradients share, are no statistic.
const fewTokens = 16

// backward computes dz = w*(p - q), p = exp(z - lse), q = [c is target], for tokens that count alone, and
// grad_hidden = dz weight, grad_weight = dz^T hidden.
func backward(k *truth.Request) ([]judge.Target, error) {
	h, err := headOf(k)
	if err != nil {
		return nil, err
	}
	names := []string{"grad_loss"}
	if !k.Chained() {
		names = append(names, "lse")
	}
	given, err := k.Values(names...)
	if err != nil {
		return nil, err
	}
	tokens, classes, dim := int64(len(h.target)), int64(h.classes), int64(h.dim)
	lse := make([]statistic, tokens)
	truth.EachRowWith(nil, tokens, h.newRow, func(own *row, i, r int64) {
		if !k.Chained() {
			lse[i] = statistic{r: given[1][i], sim: given[1][i]}
		} else if h.target[i] != h.ignored {
			h.fill(own, int(r))
			lse[i] = own.lse.stored()
		}
	})
	rows, columns := k.Sample.Choose(tokens), k.Sample.Columns().Choose(classes)
	gradHidden := k.Target("grad_hidden", h.d, []int64{tokens, dim}, rows)
	gradWeight := k.Target("grad_weight", h.d, []int64{classes, dim}, columns)
	for _, t := range []*judge.Target{&gradHidden, &gradWeight} {
		t.Leans = h.stored // all of a token's elements share the rounding errors of its logits
		t.Independent = t.Independent && !(h.stored && tokens < fewTokens)
	}
	none, gN := func() struct{} { return struct{}{} }, k.Growth(tokens)
	truth.EachRowWith(rows, tokens, none, func(_ struct{}, at, i int64) {
		out := truth.RowOf(gradHidden, at, dim)
		for j := range h.w {
			h.add(out, h.gradient(given[0], lse, int(i), j), h.gV, h.w[j], h.lowW[j])
		}
		h.round(out, classes)
	})
	truth.EachRowWith(columns, classes, none, func(_ struct{}, at, j int64) {
		out := truth.RowOf(gradWeight, at, dim)
		for i := range h.x {
			h.add(out, h.gradient(given[0], lse, i, int(j)), gN, h.x[i], h.lowX[i])
		}
		h.round(out, tokens)
	})
	return []judge.Target{gradHidden, gradWeight}, nil
}

// stored is an lse as a forward saves it in fp32.
func (s statistic) stored() statistic {
	lost := judge.U32 * math.Abs(s.r)
	return statistic{r: s.r, t: s.t + lost, tFP32: s.tFP32 + lost, sim: tensor.Round(op.FP32, s.sim, false)}
}

// gradient is dz of a token and a class, with the allowance
//
//	|w|*(p*(exp(e) - 1) + 4*u32*(p + q) + 2^-126)      e of the logit and of lse, + u32*(2*|z - lse| + 10)
//
// then + u*(|dz| + T) + eta*max(1, |w|) where it may be stored, before or after w. Where lse is of the row's
// own forward, p lies within [0, 1] whatever happened to the logits. Of a token that is ignored it is
// absent.
func (h *head) gradient(upstream []float64, lse []statistic, i, j int) (g statistic) {
	if h.target[i] == h.ignored {
		return statistic{tFP32: -1}
	}
	w, q := upstream[i%len(upstream)], 0.0
	if h.reduction == "mean" {
		w /= h.counted
	}
	if j == int(h.target[i]) {
		q = 1
	}
	l, of := h.logit(i, j), lse[i]
	p := math.Exp(l.z - of.r)
	g.r, g.sim = w*(p-q), w*(math.Exp(l.sim-of.sim)-q)
	allowed := func(e float64) float64 {
		off := truth.Weighted(p, math.Expm1(e+judge.U32*(2*math.Abs(l.z-of.r)+10)))
		if h.k.Chained() {
			off = math.Min(off, 1)
		}
		return truth.Weighted(math.Abs(w), off+4*judge.U32*(p+q)+judge.Tiny)
	}
	g.tFP32 = allowed(l.eFP32 + of.tFP32)
	g.t = g.tFP32
	if h.stored && w != 0 {
		g.t = allowed(l.e + of.t)
		g.t += h.u*(math.Abs(g.r)+g.t) + h.eta*math.Max(1, math.Abs(w))
		g.sim = tensor.Round(h.d, g.sim, false)
	}
	return g
}

// add adds a term of a gradient, dz times a row of an operand, to a sum that grows as grow says, and what
// tensor cores lose to subnormal factors.
func (h *head) add(out truth.Row, g statistic, grow float64, v []float64, low bool) {
	if g.tFP32 < 0 {
		return
	}
	size := math.Abs(g.r)
	truth.Axpy(out.R, g.r, v)
	truth.AxpyAbs(out.T, g.t+judge.U32*grow*size, v)
	truth.AxpyAbs(out.TFP32, g.tFP32+judge.U32*grow*size, v)
	truth.Axpy(out.Sim, g.sim, v)
	if g.t == 0 || !low && !h.low(g.r) {
		return
	}
	for k, x := range v {
		if x != 0 && (h.low(x) || h.low(g.r)) {
			lost := aligned * max(size, h.smallest) * max(math.Abs(x), h.smallest)
			out.T[k] += lost
			out.TFP32[k] += lost
		}
	}
}

// round finishes a row of n terms: what products lose below the normal range of fp32, where there are any.
func (h *head) round(out truth.Row, n int64) {
	for k, t := range out.T {
		if t > 0 {
			out.T[k] += float64(n+1) * truth.Subnormal
			out.TFP32[k] += float64(n+1) * truth.Subnormal
		}
	}
	truth.RoundRow(out.Sim, out.Sim, h.d)
}
