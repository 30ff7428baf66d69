// Package linearcrossentropy is the truth of the cross entropy of logits that are a product z = hidden
// weight^T.
package linearcrossentropy

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Register("linear_cross_entropy", truth.Definition{
	Forward: forward, Backward: backward, Permits: []string{"fp32", "stored"},
})

// head is one case: the logits of tokens, and what the loss asks of them.
type head struct {
	k            *truth.Request
	d            op.DType
	x, w         [][]float64 // rows of hidden and weight
	target       []float64
	ignored      float64
	reduction    string
	counted      float64 // tokens that are not ignored
	gD, gV       float64 // growth of sums over dim and over the classes
	stored       bool    // logits and their gradients may be stored in the dtype
	u, eta       float64 // what that costs: relative, and absolute below its normal range
	smallest     float64 // the smallest normal number of 16 bits; 0 in fp32
	lowX, lowW   []bool  // of each row: it holds a smaller number than that, and not 0
	dim, classes int
}

func headOf(k *truth.Request) (*head, error) {
	x, err := k.Rank("hidden", 2)
	w, errW := k.Rank("weight", 2)
	if err = truth.FirstError(err, errW); err != nil {
		return nil, err
	}
	err = truth.FirstError(k.Shaped("weight", w.Shape[0], x.Shape[1]), k.Shaped("target", x.Shape[0]))
	in, missing := k.Values("hidden", "weight", "target")
	if err = truth.FirstError(err, missing); err != nil {
		return nil, err
	}
	h := &head{
		k: k, d: x.DType, target: in[2], ignored: k.Attrs.Number("ignore_index"),
		reduction: k.Attrs.Text("reduction"), gD: k.Growth(x.Shape[1]), gV: k.Growth(w.Shape[0]),
		dim: int(x.Shape[1]), classes: int(w.Shape[0]),
	}
	if h.d != op.FP32 {
		format, _ := tensor.FormatOf(h.d)
		h.stored, h.u, h.smallest = k.Rules.Name == "stored", format.U(), math.Ldexp(1, format.EMin)
		h.eta = max(truth.HalfSubnormal(h.d), judge.Tiny)
	}
	h.x, h.lowX = h.rowsOf(in[0])
	h.w, h.lowW = h.rowsOf(in[1])
	for _, t := range h.target {
		if t != h.ignored {
			h.counted++
		}
	}
	return h, nil
}

// low says whether tensor cores align v by the smallest normal number, which is larger.
func (h *head) low(v float64) bool { return v != 0 && math.Abs(v) < h.smallest }

func (h *head) rowsOf(values []float64) (rows [][]float64, low []bool) {
	for ; len(values) > 0; values = values[h.dim:] {
		rows, low = append(rows, values[:h.dim]), append(low, false)
		for _, v := range values[:h.dim] {
			low[len(low)-1] = low[len(low)-1] || h.low(v)
		}
	}
	return rows, low
}

// aligned is how many units of 2^-24 of a product with a number below the normal range tensor cores cut from
// the others of a step: docs/judge.md.
const aligned = 17 * judge.U32

// logit is one of a row's: how far it may be off, and as the contract stores it.
type logit struct{ z, e, eFP32, sim float64 }

// logit is that of a token and a class:
//
//	e = u32*g(D)*sum |x*w| + (D+1)*2^-149, then + u*(|z| + e) + eta where it may be stored
//
// and what tensor cores lose to subnormal operands of 16 bits.
func (h *head) logit(i, j int) logit {
	x, w := h.x[i], h.w[j]
	z, size := truth.Dots(x, w)
	l := logit{z: z, eFP32: judge.U32*h.gD*size + float64(h.dim+1)*truth.Subnormal, sim: z}
	if h.lowX[i] || h.lowW[j] {
		for k, v := range x {
			if (h.low(v) || h.low(w[k])) && v != 0 && w[k] != 0 {
				l.eFP32 += aligned * max(math.Abs(v), h.smallest) * max(math.Abs(w[k]), h.smallest)
			}
		}
	}
	if size == 0 {
		l.eFP32 = 0
	}
	l.e = l.eFP32
	if h.stored && size > 0 {
		l.e += h.u*(math.Abs(z)+l.e) + h.eta
		l.sim = tensor.Round(h.d, z, false)
	}
	return l
}

// statistic is a number of a row with its allowances, and as the contract gives it.
type statistic struct{ r, t, tFP32, sim float64 }

// row is the logits of one token and the logarithm of the sum of their exponentials.
type row struct {
	z        []logit
	max, log float64 // lse is their sum
	lse      statistic
}

// newRow is room for one.
func (h *head) newRow() *row { return &row{z: make([]logit, h.classes)} }

// fill computes a row. With p = exp(z - lse) the allowance of lse is
//
//	ln(sum p*exp(e)), which is at most the largest e, + u32*(|m| + g(V) + 8 + 2*|log l|)      m the maximum, l = sum exp(z - m)
//
// A row of only -inf, with +inf or with NaN has none: NaN.
func (h *head) fill(r *row, i int) {
	top, topSim := math.Inf(-1), math.Inf(-1)
	for j := range r.z {
		r.z[j] = h.logit(i, j)
		top, topSim = max(top, r.z[j].z), max(topSim, r.z[j].sim) // NaN wins
	}
	l := truth.SumOf(len(r.z), func(j int) float64 { return math.Exp(r.z[j].z - top) })
	r.max, r.log = top, math.Log(l)
	r.lse.r = r.max + r.log
	r.lse.sim = r.lse.r
	if h.stored {
		sum := truth.SumOf(len(r.z), func(j int) float64 { return math.Exp(r.z[j].sim - topSim) })
		r.lse.sim = topSim + math.Log(sum)
	}
	if h.k.SimOnly {
		return
	}
	own := judge.U32 * (math.Abs(r.max) + h.gV + 8 + 2*math.Abs(r.log))
	r.lse.tFP32 = own + spread(r, func(l logit) float64 { return l.eFP32 })
	r.lse.t = r.lse.tFP32
	if h.stored {
		r.lse.t = own + spread(r, func(l logit) float64 { return l.e })
	}
}

// spread is how far lse may move where each logit may be off by e.
func spread(r *row, e func(logit) float64) float64 {
	more := truth.SumOf(len(r.z), func(j int) float64 {
		return truth.Weighted(math.Exp(r.z[j].z-r.lse.r), math.Expm1(e(r.z[j])))
	})
	return math.Log1p(more)
}

// put fills one element.
func put(t judge.Target, i int64, s statistic) {
	t.R[i], t.T[i], t.TFP32[i], t.Sim[i] = s.r, s.t, s.tFP32, tensor.Round(t.DType, s.sim, false)
}

// loss is that of a token that counts: lse - z_t, with the allowances of both and
//
//	u32*(g(V) + 8 + 2*|m| + 6*|lse| + 4*|z_t|)
func (h *head) loss(r *row, target int) statistic {
	z := r.z[target]
	own := judge.U32 * (h.gV + 8 + 2*math.Abs(r.max) + 6*math.Abs(r.lse.r) + 4*math.Abs(z.z))
	return statistic{
		r: r.log + (r.max - z.z), sim: r.lse.sim - z.sim,
		t: own + r.lse.t + z.e, tFP32: own + r.lse.tFP32 + z.eFP32,
	}
}

func forward(k *truth.Request) ([]judge.Target, error) {
	h, err := headOf(k)
	if err != nil {
		return nil, err
	}
	tokens := int64(len(h.target))
	chosen := k.Sample.Choose(tokens)
	if h.reduction != "none" {
		chosen = nil // the loss is of all
	}
	lse, each := k.RowStatistic("lse", tokens, chosen), k.RowStatistic("loss", tokens, chosen)
	truth.EachRowWith(chosen, tokens, h.newRow, func(own *row, i, r int64) {
		h.fill(own, int(r))
		put(lse, i, own.lse)
		if t := h.target[r]; t != h.ignored {
			put(each, i, h.loss(own, int(t)))
		}
	})
	if h.reduction != "none" {
		each = h.reduced(each)
	}
	return []judge.Target{each, lse}, nil
}

// reduced is the sum of the losses, or their mean: 0 where no token counts. To their allowances comes
// u32*g(tokens)*sum|loss|.
func (h *head) reduced(each judge.Target) judge.Target {
	loss := h.k.TargetAt("loss", op.FP32, []int64{1}, nil)
	loss.Uniform = true
	n := 1.0
	if h.reduction == "mean" {
		n = max(h.counted, 1)
	}
	size := truth.SumOf(len(each.R), func(i int) float64 { return math.Abs(each.R[i]) })
	sums := judge.U32 * h.k.Growth(int64(len(each.R))) * size
	put(loss, 0, statistic{
		r: truth.Sum(each.R) / n, t: (truth.Sum(each.T) + sums) / n,
		tFP32: (truth.Sum(each.TFP32) + sums) / n, sim: truth.Sum(each.Sim) / n,
	})
	return loss
}
