// Package layernorm is the truth of layernorm: layer normalisation along rows.
package layernorm

import (
	"fmt"
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Register("layernorm", truth.Definition{
	Forward: forward, Backward: backward, Permits: []string{"fp32"}, ByRows: []string{"rows"},
})

// moments are the statistics of one row with what their allowances need.
type moments struct {
	mean, variance, rstd float64 // variance divides by the number of columns
	meanAbs              float64 // mean of |x|: what the error of the mean scales with
	rho                  float64 // relative error of the variance, see momentsOf
	g                    float64 // growth of errors in a sum over the row
}

// momentsOf computes the exact statistics of a row. The variance of two passes is off by g(n) roundoffs and
// by the squared error of the mean. Welford's recurrence multiplies differences from a running mean that was
// rounded: its errors, of a roundoff of the mean each, add up like a random walk, to sum_k d_k*(e_{k-1} +
// e_k) with e_k = sum_j j*delta_j/k, whose standard deviation is sqrt(2/3)*n*sigma*u32*|mean|; 8 of these
// never happen by chance. rho is all that relative to variance + eps:
//
//	rho = (2*g(n)*u32*v + 8*u32*mean|x|*sqrt(v) + 2*(u32*g(n)*mean|x|)^2) / (v+eps)
//
// The last term stays where the variance is 0: two passes over a constant row leave the squared error of the
// mean as its variance.
func momentsOf(x, scratch []float64, eps, g float64) moments {
	n := float64(len(x))
	var s moments
	s.mean = truth.Sum(x) / n
	s.meanAbs = truth.Sum(truth.Absolutes(scratch, x)) / n
	for i, v := range x {
		scratch[i] = (v - s.mean) * (v - s.mean)
	}
	s.variance = truth.Sum(scratch[:len(x)]) / n
	s.rstd = 1 / math.Sqrt(s.variance+eps)
	s.g = g
	total := s.variance + eps
	shift := judge.U32 * g * s.meanAbs
	s.rho = (2*g*judge.U32*s.variance + 8*judge.U32*s.meanAbs*math.Sqrt(s.variance) + 2*shift*shift) / total
	return s
}

// normalized is the allowance of xhat = (x-mean)*rstd in fp32, chained from x itself:
//
//	e = rstd*(2*u32*|x-mean| + u32*g(n)*mean|x|) + |xhat|*(rho/2 + 6*u32)
//
// Where mean and rstd were given, the terms of their errors drop out.
func (s *moments) normalized(x float64, given bool) (xhat, e float64) {
	xhat = (x - s.mean) * s.rstd
	e = s.rstd*2*judge.U32*math.Abs(x-s.mean) + 6*judge.U32*math.Abs(xhat)
	if !given {
		e += s.rstd*judge.U32*s.g*s.meanAbs + math.Abs(xhat)*s.rho/2
	}
	return xhat, e
}

// checkParameters says whether the inputs of names have one value a column.
func checkParameters(k *truth.Request, x tensor.Tensor, names ...string) error {
	if len(x.Shape) != 2 || x.Shape[1] == 0 {
		return fmt.Errorf("x has shape %v: want at least one column", x.Shape)
	}
	for _, name := range names {
		if err := k.Shaped(name, x.Shape[1]); err != nil {
			return err
		}
	}
	return nil
}

func forward(k *truth.Request) ([]judge.Target, error) {
	x, err := k.Rank("x", 2)
	if err = truth.FirstError(err, checkParameters(k, x, "weight", "bias")); err != nil {
		return nil, err
	}
	parameters, err := k.Values("weight", "bias")
	if err != nil {
		return nil, err
	}
	eps, err := truth.EpsOf(k)
	if err != nil {
		return nil, err
	}
	in, _ := k.Rows("x")
	rows, g := x.Shape[0], k.Growth(x.Shape[1])
	chosen := k.Sample.Choose(rows)
	y := k.RowTargetInFP32("y", x.DType, x.Shape, chosen)
	mean := k.RowStatistic("mean", rows, chosen)
	rstd := k.RowStatistic("rstd", rows, chosen)
	statistics := make([]moments, len(mean.R))
	truth.EachRowWith(chosen, rows, in.Memory(1), func(own [][]float64, i, r int64) {
		in.Read(own, r)
		s := momentsOf(own[0], own[1], eps, g)
		statistics[i] = s
		truth.SetOne(mean, i, s.mean, judge.U32*s.g*s.meanAbs)
		// 4 for a root and reciprocal good to 2^-22, 1 for the division by cols and the sum with eps
		truth.SetOne(rstd, i, s.rstd, s.rstd*(s.rho/2+5*judge.U32))
	})
	truth.FillRows(k, y, chosen, in.Memory(0), func(own [][]float64, i, r int64, out truth.Row) {
		in.Read(own, r)
		fillRow(out, statistics[i], own[0], parameters[0], parameters[1], x.DType)
	})
	return []judge.Target{y, mean, rstd}, nil
}

// fillRow is y = xhat*weight + bias with
//
//	T = |w|*rstd*(2*u32*|x-mean| + u32*g(n)*mean|x|) + |w*xhat|*(rho/2 + 6*u32) + 4*u32*(|w*xhat| + |bias|)
//
// that is |w|*e, and the product and the sum.
func fillRow(out truth.Row, s moments, x, weight, bias []float64, d op.DType) {
	for i := range x {
		xhat, e := s.normalized(x[i], false)
		scaled := float64(xhat * weight[i])
		out.R[i] = scaled + bias[i]
		out.T[i] = truth.Weighted(math.Abs(weight[i]), e) + 4*judge.U32*(math.Abs(scaled)+math.Abs(bias[i]))
	}
	truth.RoundRow(out.Sim, out.R, d)
}

// gradients is what a backward starts from: the exact statistics of each row, and those the simulated
// contract sees (chained: mean and rstd rounded to fp32, as a forward saves them; else those that were
// given).
type gradients struct {
	in         truth.RowInputs // x and dy
	weight     []float64
	rows, cols int64
	given      bool
	gRows      float64 // growth of errors in a sum over the rows
	exact, sim []moments
}

func backward(k *truth.Request) ([]judge.Target, error) {
	b, err := gradientsOf(k)
	if err != nil {
		return nil, err
	}
	x, _ := k.Tensor("x")
	weight, _ := k.Tensor("weight")
	chosen := k.Sample.Choose(b.rows)
	dx := k.RowTargetInFP32("grad_x", x.DType, x.Shape, chosen)
	truth.FillRows(k, dx, chosen, b.in.Memory(5), func(own [][]float64, _, r int64, out truth.Row) {
		b.in.Read(own, r)
		b.gradX(out, r, x.DType, own)
	})
	dweight := k.Target("grad_weight", weight.DType, weight.Shape, nil)
	dbias := k.Target("grad_bias", weight.DType, weight.Shape, nil)
	b.gradParameters(dweight, dbias)
	return []judge.Target{dx, dweight, dbias}, nil
}

func gradientsOf(k *truth.Request) (*gradients, error) {
	x, err := k.Rank("x", 2)
	if err = truth.FirstError(err, checkParameters(k, x, "weight"),
		k.Shaped("grad_y", x.Shape...)); err != nil {
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
	in, err := k.Rows("x", "grad_y")
	if err != nil {
		return nil, err
	}
	b := &gradients{
		in: in, weight: parameters[0], rows: x.Shape[0], cols: x.Shape[1], given: !k.Chained(),
		gRows: k.Growth(x.Shape[0]),
	}
	b.exact, b.sim = make([]moments, b.rows), make([]moments, b.rows)
	var saved [][]float64
	if b.given {
		saved, err = k.Values("mean", "rstd")
		if err = truth.FirstError(err, k.Shaped("mean", b.rows), k.Shaped("rstd", b.rows)); err != nil {
			return nil, err
		}
	}
	g := k.Growth(b.cols)
	parallel.EachWith(b.rows, in.Memory(0), func(own [][]float64, r int64) {
		if b.given {
			b.exact[r] = moments{mean: saved[0][r], rstd: saved[1][r], g: g}
			b.sim[r] = b.exact[r]
			return
		}
		x.DecodeRow(own[0], r, 0)
		b.exact[r] = momentsOf(own[0], own[1], eps, g)
		b.sim[r] = b.exact[r]
		b.sim[r].mean = tensor.Round(op.FP32, b.exact[r].mean, false)
		b.sim[r].rstd = tensor.Round(op.FP32, b.exact[r].rstd, false)
	})
	return b, nil
}

// gradX fills one row of dx = rstd*(wdy - mean(wdy) - xhat*c2), c2 = mean(wdy*xhat), wdy = weight*dy, with
//
//	T = rstd*(u32*(6|wdy| + g*mean|wdy| + g*|xhat|*mean|wdy*xhat| + 6|xhat*c2|) + e*|c2| + |xhat|*mean(|wdy|*e))
//	    + |R|*(max(u32*g, rho/2) + 8*u32)
//
// the last term for rstd, whose error is rho/2 where it is not given
func (b *gradients) gradX(out truth.Row, r int64, d op.DType, own [][]float64) {
	x, dy, s := own[0], own[1], b.exact[r]
	xhat, e, wdy, both, scratch := own[2], own[3], own[4], own[5], own[6]
	for i, v := range x {
		xhat[i], e[i] = s.normalized(v, b.given)
	}
	n := float64(len(x))
	c1 := truth.Sum(truth.Products(wdy, b.weight, dy)) / n
	c2 := truth.Sum(truth.Products(both, wdy, xhat)) / n
	absolute := truth.Sum(truth.Absolutes(scratch, wdy)) / n
	product := truth.Sum(truth.Absolutes(scratch, both)) / n
	for i, v := range wdy {
		scratch[i] = truth.Weighted(math.Abs(v), e[i])
	}
	carried := truth.Sum(scratch) / n
	g := s.g
	relative := math.Max(judge.U32*g, s.rho/2) + 8*judge.U32
	for i, w := range wdy {
		a, size := math.Abs(xhat[i]), math.Abs(w)
		out.R[i] = s.rstd * (w - c1 - float64(xhat[i]*c2))
		own := judge.U32 * (6*size + g*absolute + g*a*product + 6*a*math.Abs(c2))
		out.T[i] = s.rstd*(own+e[i]*math.Abs(c2)+a*carried) + math.Abs(out.R[i])*relative
	}
	if s = b.sim[r]; s != b.exact[r] {
		for i, v := range x {
			xhat[i] = (v - s.mean) * s.rstd
		}
		c2 = truth.Sum(truth.Products(both, wdy, xhat)) / n
	}
	for i, w := range wdy {
		out.Sim[i] = s.rstd * (w - c1 - float64(xhat[i]*c2))
	}
	truth.RoundRow(out.Sim, out.Sim, d)
}

// rowBlock is how many rows are added up before their sum joins the total, so that the error of a long column
// stays small.
const rowBlock = 128

// gradParameters fills dweight = sum over rows of dy*xhat and dbias = sum over rows of dy, with
//
//	T_dweight = u32*g(rows)*sum|dy*xhat| + sum(|dy|*e)      T_dbias = u32*g(rows)*sum|dy|
func (b *gradients) gradParameters(dweight, dbias judge.Target) {
	const stripe = 64 // columns one task takes
	g := judge.U32 * b.gRows
	parallel.Each((b.cols+stripe-1)/stripe, func(task int64) {
		first, last := task*stripe, min((task+1)*stripe, b.cols)
		total, part := make([]parameterSums, last-first), make([]parameterSums, last-first)
		x, dy := make([]float64, last-first), make([]float64, last-first)
		for r := range b.rows {
			b.in.Tensors[0].DecodeRow(x, r, first)
			b.in.Tensors[1].DecodeRow(dy, r, first)
			for c := range part {
				part[c].add(x[c], dy[c], &b.exact[r], &b.sim[r], b.given)
			}
			if (r+1)%rowBlock == 0 || r+1 == b.rows {
				for i := range part {
					total[i].join(part[i])
				}
				clear(part)
			}
		}
		for i, s := range total {
			c := first + int64(i)
			dweight.R[c], dweight.T[c] = s.weight, g*s.weightAbs+s.carried
			dweight.TFP32[c], dweight.Sim[c] = dweight.T[c], tensor.Round(dweight.DType, s.weightSim, false)
			truth.SetOne(dbias, c, s.bias, g*s.biasAbs)
		}
	})
}

// parameterSums are the sums over rows that one column of dweight and dbias needs.
type parameterSums struct {
	weight, weightSim, weightAbs, carried, bias, biasAbs float64
}

func (p *parameterSums) add(x, dy float64, exact, sim *moments, given bool) {
	xhat, e := exact.normalized(x, given)
	simulated := (x - sim.mean) * sim.rstd
	size := math.Abs(dy)
	p.weight += float64(dy * xhat)
	p.weightSim += float64(dy * simulated)
	p.weightAbs += math.Abs(dy * xhat)
	p.carried += truth.Weighted(size, e)
	p.bias += dy
	p.biasAbs += size
}

func (p *parameterSums) join(o parameterSums) {
	p.weight += o.weight
	p.weightSim += o.weightSim
	p.weightAbs += o.weightAbs
	p.carried += o.carried
	p.bias += o.bias
	p.biasAbs += o.biasAbs
}
