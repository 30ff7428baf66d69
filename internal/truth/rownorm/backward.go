package rownorm

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// gradients is the starting point of a backward: the exact statistics of each row, and those that the
// simulated contract sees (chained: mean and rstd rounded to fp32, as a forward saves them; otherwise the
// given ones).
type gradients struct {
	o          Operator
	in         truth.RowInputs // x and dy, then residual and grad_h where there is a residual
	adds       bool
	st         storage
	weight     []float64
	rows, cols int64
	given      bool
	gRows      float64 // growth of errors in a sum over the rows
	exact, sim []moments
}

func (o Operator) backward(k *truth.Request) ([]judge.Target, error) {
	b, err := o.gradientsOf(k)
	if err != nil {
		return nil, err
	}
	x, _ := k.Tensor("x")
	weight, _ := k.Tensor("weight")
	chosen := k.Sample.Choose(b.rows)
	dx := b.gradRows(k, "grad_x", x, chosen)
	targets := []judge.Target{dx}
	if o.Residual && !b.adds {
		targets = append(targets, k.Target("grad_residual", x.DType, []int64{0, b.cols}, nil))
	} else if b.adds {
		targets = append(targets, b.gradRows(k, "grad_residual", x, chosen))
	}
	dweight := k.Target("grad_weight", weight.DType, weight.Shape, nil)
	targets = append(targets, dweight)
	var dbias judge.Target
	if o.Bias {
		dbias = k.Target("grad_bias", weight.DType, weight.Shape, nil)
		targets = append(targets, dbias)
	}
	b.gradParameters(dweight, dbias)
	return targets, nil
}

func (o Operator) gradientsOf(k *truth.Request) (*gradients, error) {
	x, err := k.Rank("x", 2)
	if err = truth.FirstError(err, checkParameters(k, x, "weight"),
		k.Shaped("grad_y", x.Shape...), o.checkRows(k, x, "residual", "grad_h")); err != nil {
		return nil, err
	}
	parameters, err := k.Values("weight")
	if err != nil {
		return nil, err
	}
	eps, err := truth.EpsOf(k)
	if err != nil {
		return nil, err
	}
	names := []string{"x", "grad_y"}
	if o.Adds(k.Case) {
		names = append(names, "residual", "grad_h")
	}
	in, err := k.Rows(names...)
	if err != nil {
		return nil, err
	}
	b := &gradients{
		o: o, in: in, adds: o.Adds(k.Case), st: o.storageOf(k, x.DType), weight: parameters[0],
		rows: x.Shape[0], cols: x.Shape[1], given: !k.Chained(), gRows: k.Growth(x.Shape[0]),
	}
	return b, b.statistics(k, eps)
}

// statistics fills the moments of every row.
func (b *gradients) statistics(k *truth.Request, eps float64) error {
	b.exact, b.sim = make([]moments, b.rows), make([]moments, b.rows)
	g := k.Growth(b.cols)
	if b.given {
		saved, err := k.Values(b.o.Statistics()...)
		if err != nil {
			return err
		}
		for i, name := range b.o.Statistics() {
			if err := k.Shaped(name, b.rows); err != nil {
				return err
			}
			for r, v := range saved[i] {
				if name == "mean" {
					b.exact[r].mean = v
				} else {
					b.exact[r].rstd, b.exact[r].g, b.exact[r].tiny = v, g, b.o.underflow(v)
				}
			}
		}
		copy(b.sim, b.exact)
		return nil
	}
	parallel.EachWith(b.rows, b.in.Memory(2), func(own [][]float64, r int64) {
		x, scratch, stored := b.readX(own[0], own[1], r), own[1], own[len(own)-1]
		b.exact[r] = b.o.momentsOf(x, scratch, eps, g)
		b.sim[r] = b.exact[r]
		if b.st.sums {
			b.exact[r].drift = b.st.drift(&b.exact[r], x, scratch, eps)
			b.sim[r] = b.o.momentsOf(b.st.storedSums(stored, x), scratch, eps, g)
		}
		b.sim[r].mean = tensor.Round(op.FP32, b.sim[r].mean, false)
		b.sim[r].rstd = tensor.Round(op.FP32, b.sim[r].rstd, false)
	})
	return nil
}

// readX decodes a row of s, with room for one of residual.
func (b *gradients) readX(into, room []float64, r int64) []float64 {
	return b.readFrom(into, room, r, 0)
}

// readFrom decodes a row of s from a column on.
func (b *gradients) readFrom(into, room []float64, r, first int64) []float64 {
	b.in.Tensors[0].DecodeRow(into, r, first)
	if b.adds {
		b.in.Tensors[2].DecodeRow(room, r, first)
		for i, v := range room {
			into[i] += v
		}
	}
	return into
}

// gradRows returns the gradient of x, and of residual: it is the same.
func (b *gradients) gradRows(k *truth.Request, name string, x tensor.Tensor, chosen []int64) judge.Target {
	t := rowTarget(k, b.st, name, x.DType, x.Shape, chosen)
	truth.FillRows(k, t, chosen, b.in.Memory(6), func(own [][]float64, _, r int64, out truth.Row) {
		b.gradX(out, r, x.DType, own)
	})
	return t
}

// gradX fills one row of dx = rstd*(wdy - mean(wdy) - xhat*c2), c2 = mean(wdy*xhat), wdy = weight*dy, with
//
//	T = rstd*(u32*(6|wdy| + g*mean|wdy| + g*|xhat|*mean|wdy*xhat| + 6|xhat*c2|)
//	          + e*|c2| + |xhat|*mean(|wdy|*e))
//	    + |R|*(max(u32*g, rho/2) + 8*u32)
//
// the last term for rstd, whose error is rho/2 where it is not given. Without a mean the terms of mean(wdy)
// drop out. What storing s adds is in e, and in the error of rstd; grad_h joins as one more sum. store adds
// the error of storing wdy.
func (b *gradients) gradX(out truth.Row, r int64, d op.DType, own [][]float64) {
	in := len(b.in.Tensors)
	dy, s := own[1], b.exact[r]
	b.in.Tensors[1].DecodeRow(dy, r, 0)
	x := b.readX(own[0], own[in], r)
	w := rowGradient{xhat: own[in], e: own[in+1], wdy: own[in+2], both: own[in+3], scratch: own[in+4]}
	truth.Products(w.wdy, b.weight, dy)
	w.fill(b, &s, x, storage{})
	w.allow(b, &s, out.R, out.T, 0)
	if b.st.low() {
		copy(out.TFP32, out.T)
	}
	switch {
	case b.st.sums:
		w.fill(b, &s, x, b.st)
		w.allow(b, &s, out.R, out.T, s.drift)
		for i, v := range out.R {
			out.T[i] += b.st.off(math.Abs(v) + out.T[i])
		}
		x = b.st.storedSums(own[in+5], x)
	case b.st.normalised:
		w.store(b, &s, out.T)
	}
	if seen := b.sim[r]; seen != s || b.st.low() {
		for i, v := range x {
			w.xhat[i] = (v - seen.mean) * seen.rstd
		}
		w.means(b.o)
		s = seen
	}
	for i, v := range w.wdy {
		out.Sim[i] = s.rstd * (v - w.c1 - float64(w.xhat[i]*w.c2))
	}
	if b.adds {
		b.join(out, own[3], r)
	}
	truth.RoundRow(out.Sim, out.Sim, d)
}

// join adds grad_h to the gradient of s: T grows by the rounding of the sum.
func (b *gradients) join(out truth.Row, dh []float64, r int64) {
	b.in.Tensors[3].DecodeRow(dh, r, 0)
	for i, v := range dh {
		out.Sim[i] = b.st.storedSum(out.Sim[i]) + v
		out.R[i] += v
		out.T[i] += judge.U32 * math.Abs(out.R[i])
		if b.st.sums {
			out.TFP32[i] += judge.U32 * math.Abs(out.R[i])
		}
	}
}

// rowGradient is the working memory of one row's gradient.
type rowGradient struct {
	xhat, e, wdy, both, scratch []float64
	c1, c2                      float64
}

// fill computes xhat with its error bound, including that of storing s, and the two means.
func (w *rowGradient) fill(b *gradients, s *moments, x []float64, st storage) {
	for i, v := range x {
		w.xhat[i], w.e[i] = s.normalized(v, b.given)
		w.e[i] += st.moved(s, v, w.xhat[i], b.given)
	}
	w.means(b.o)
}

// means computes c1 and c2.
func (w *rowGradient) means(o Operator) {
	n := float64(len(w.wdy))
	if o.Centred {
		w.c1 = truth.Sum(w.wdy) / n
	}
	w.c2 = truth.Sum(truth.Products(w.both, w.wdy, w.xhat)) / n
}

// store adds to T the error of storing wdy, and replaces wdy by its value under the simulated contract. With
// d = u*|wdy| + eta of the dtype it is
//
//	rstd*(d + mean(d) + |xhat|*mean(d*(|xhat| + e)))
//
// the second term where there is a mean, plus the error of fp32 in that.
func (w *rowGradient) store(b *gradients, s *moments, t []float64) {
	n, shift := float64(len(t)), 0.0
	for i, v := range w.wdy {
		w.scratch[i] = b.st.off(v)
	}
	if b.o.Centred {
		shift = truth.Sum(w.scratch) / n
	}
	for i, d := range w.scratch {
		w.both[i] = truth.Weighted(d, math.Abs(w.xhat[i])+w.e[i])
	}
	moved := truth.Sum(w.both) / n
	relative := 1 + 2*s.relative()
	for i, d := range w.scratch {
		t[i] += s.rstd * (d + shift + truth.Weighted(math.Abs(w.xhat[i]), moved)) * relative
	}
	truth.RoundRow(w.wdy, w.wdy, b.st.dtype)
}

// allow computes R and T of the gradient of s; drift is a further relative error of rstd.
func (w *rowGradient) allow(b *gradients, s *moments, r, t []float64, drift float64) {
	n, absolute := float64(len(r)), 0.0
	if b.o.Centred {
		absolute = truth.Sum(truth.Absolutes(w.scratch, w.wdy)) / n
	}
	product := truth.Sum(truth.Absolutes(w.scratch, w.both)) / n
	for i, v := range w.wdy {
		w.scratch[i] = truth.Weighted(math.Abs(v), w.e[i])
	}
	carried := truth.Sum(w.scratch) / n
	g := s.g
	relative := s.relative() + drift
	for i, v := range w.wdy {
		a, size := math.Abs(w.xhat[i]), math.Abs(v)
		r[i] = s.rstd * (v - w.c1 - float64(w.xhat[i]*w.c2))
		own := judge.U32 * (6*size + g*absolute + g*a*product + 6*a*math.Abs(w.c2))
		if v != 0 {
			own += s.tiny
		}
		t[i] = s.rstd*(own+w.e[i]*math.Abs(w.c2)+a*carried) + math.Abs(r[i])*relative
	}
}
