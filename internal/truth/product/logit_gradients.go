package product

import (
	"math"

	"triad/internal/judge"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Gradient is the gradient of the loss of Logits: for row i it is w*(exp(z - lse) - [j is class]).
type Gradient struct {
	W     float64
	Class int
	LSE   Number
	Given bool // lse is an input, and not of the row's own forward
	Left  bool // the row is left out: its gradient is 0, and it adds nothing; see orNaN
}

// fewRows: with fewer rows, their rounding errors, which all elements of a gradient share, are no statistic.
const fewRows = 16

// Gradients returns the gradients of both operands: of X it is dz W, of W it is dz^T X.
func (l *Logits) Gradients(of []Gradient) []judge.Target {
	rows, columns := l.k.Sample.Choose(l.Rows), l.k.Sample.Columns().Choose(l.Classes)
	dim := int64(l.dim)
	ofX := l.k.Target("grad_"+l.hidden, l.d, []int64{l.Rows, dim}, rows)
	ofW := l.k.Target("grad_"+l.weight, l.d, []int64{l.Classes, dim}, columns)
	for _, t := range []*judge.Target{&ofX, &ofW} {
		t.Leans = l.stored // the elements of a row share the rounding errors of its logits
		t.Independent = t.Independent && !(l.stored && l.Rows < fewRows)
	}
	none := func() struct{} { return struct{}{} }
	truth.EachRowWith(rows, l.Rows, none, func(_ struct{}, at, i int64) {
		out := truth.RowOf(ofX, at, dim)
		for j := 0; j < len(l.w) && !of[i].Left; j++ {
			l.add(out, l.gradient(of[i], int(i), j), l.gV, l.w[j], l.lowW[j])
		}
		l.finish(out, l.Classes)
	})
	truth.EachRowWith(columns, l.Classes, none, func(_ struct{}, at, j int64) {
		out := truth.RowOf(ofW, at, dim)
		for i := range l.x {
			if !of[i].Left {
				l.add(out, l.gradient(of[i], i, int(j)), l.gN, l.x[i], l.lowX[i])
			}
		}
		l.finish(out, l.Rows)
	})
	return l.orNaN(of, ofX, ofW)
}

// orNaN returns both gradients where rows that are left out meet NaN or an infinity: such a row has and adds
// 0, or NaN as 0 times what it meets.
func (l *Logits) orNaN(of []Gradient, ofX, ofW judge.Target) []judge.Target {
	left := func(row int) bool { return of[row].Left }
	if l.k.Distribution != "non_finite" || !l.nonFinite(left) {
		return []judge.Target{ofX, ofW}
	}
	others := func(t judge.Target, row func(int) bool) (all []truth.Other) {
		for i := range len(t.R) {
			at := i
			if t.Index != nil {
				at = int(t.Index[i])
			}
			if row(at / l.dim) {
				all = append(all, truth.Other{At: int64(i), R: math.NaN()})
			}
		}
		return all
	}
	every := func(int) bool { return true }
	return []judge.Target{truth.Either(ofX, others(ofX, left)), truth.Either(ofW, others(ofW, every))}
}

// gradient returns dz of a row and a class, with the error bound
//
//	|w|*(p*(exp(e) - 1) + 4*u32*(p + q) + 2^-126)      e of the logit and of lse, + u32*(2*|z - lse| + 10)
//
// then + u*(|dz| + T) + eta*max(1, |w|) where it may be stored, before or after w. Where lse is of the row's
// own forward, p lies within [0, 1] whatever happened to the logits.
func (l *Logits) gradient(of Gradient, i, j int) Number {
	q := 0.0
	if j == of.Class {
		q = 1
	}
	z := l.At(i, j)
	p := math.Exp(z.R - of.LSE.R)
	g := Number{R: of.W * (p - q), Sim: of.W * (math.Exp(z.Sim-of.LSE.Sim) - q)}
	allowed := func(e float64) float64 {
		off := truth.Weighted(p, math.Expm1(e+judge.U32*(2*math.Abs(z.R-of.LSE.R)+10)))
		if !of.Given {
			off = math.Min(off, 1)
		}
		return truth.Weighted(math.Abs(of.W), off+4*judge.U32*(p+q)+judge.Tiny)
	}
	g.TFP32 = allowed(z.TFP32 + of.LSE.TFP32)
	g.T = g.TFP32
	if l.stored && of.W != 0 {
		g.T = allowed(z.T + of.LSE.T)
		g.T += l.u*(math.Abs(g.R)+g.T) + l.eta*math.Max(1, math.Abs(of.W))
		g.Sim = tensor.Round(l.d, g.Sim, false)
	}
	return g
}

// add adds a term of a gradient, dz times a row of an operand, to a sum whose error grows by grow, and the
// loss of tensor cores to subnormal factors.
func (l *Logits) add(out truth.Row, g Number, grow float64, v []float64, low bool) {
	size := math.Abs(g.R)
	truth.Axpy(out.R, g.R, v)
	truth.AxpyAbs(out.T, g.T+judge.U32*grow*size, v)
	truth.AxpyAbs(out.TFP32, g.TFP32+judge.U32*grow*size, v)
	truth.Axpy(out.Sim, g.Sim, v)
	if g.T == 0 || !low && !l.low(g.R) {
		return
	}
	for k, x := range v {
		if x != 0 && (l.low(x) || l.low(g.R)) {
			lost := l.aligned(g.R, x)
			out.T[k] += lost
			out.TFP32[k] += lost
		}
	}
}

// finish adds the loss of n products below the normal range of fp32, where there are any, and rounds.
func (l *Logits) finish(out truth.Row, n int64) {
	for k, t := range out.T {
		if t > 0 {
			out.T[k] += float64(n+1) * truth.Subnormal
			out.TFP32[k] += float64(n+1) * truth.Subnormal
		}
	}
	truth.RoundRow(out.Sim, out.Sim, l.d)
}
