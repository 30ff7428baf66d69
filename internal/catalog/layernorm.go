package catalog

import (
	"fmt"
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

var _ = register("layernorm", truth{forward: layernormForward, backward: layernormBackward, permits: []string{"fp32"}, byRows: []string{"rows"}})

// moments are the statistics of one row with what their allowances need.
type moments struct {
	mean, variance, rstd float64 // variance divides by the number of columns
	meanAbs              float64 // mean of |x|: what the error of the mean scales with
	rho                  float64 // relative error of the variance, see momentsOf
	g                    float64 // growth of errors in a sum over the row
}

// momentsOf computes the exact statistics of a row. The variance of two passes is off by g(n) roundoffs and by the squared error of the mean.
// Welford's recurrence multiplies differences from a running mean that was rounded: its errors, of a roundoff of the mean each, add up like a
// random walk, to sum_k d_k*(e_{k-1} + e_k) with e_k = sum_j j*delta_j/k, whose standard deviation is sqrt(2/3)*n*sigma*u32*|mean|; 8 of these never
// happen by chance. rho is all that relative to variance + eps:
//
//	rho = (2*g(n)*u32*v + 8*u32*mean|x|*sqrt(v) + 2*(u32*g(n)*mean|x|)^2) / (v+eps)
//
// The last term stays where the variance is 0: two passes over a constant row leave the squared error of the mean as its variance.
func momentsOf(x, scratch []float64, eps, g float64) moments {
	n := float64(len(x))
	var s moments
	s.mean = sum(x) / n
	s.meanAbs = sum(absolutes(scratch, x)) / n
	for i, v := range x {
		scratch[i] = (v - s.mean) * (v - s.mean)
	}
	s.variance = sum(scratch[:len(x)]) / n
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

func epsOf(k *call) (float64, error) {
	eps, ok := k.Attrs.Lookup("eps")
	if !ok {
		return 0, fmt.Errorf("attribute eps is missing")
	}
	return eps.Number, nil
}

// parameters says whether the inputs of names have one value a column.
func (k *call) parameters(x tensor.Tensor, names ...string) error {
	if len(x.Shape) != 2 || x.Shape[1] == 0 {
		return fmt.Errorf("x has shape %v: want at least one column", x.Shape)
	}
	for _, name := range names {
		if err := k.shaped(name, x.Shape[1]); err != nil {
			return err
		}
	}
	return nil
}

func layernormForward(k *call) ([]judge.Target, error) {
	x, err := k.rank("x", 2)
	if err = firstError(err, k.parameters(x, "weight", "bias")); err != nil {
		return nil, err
	}
	parameters, err := k.values("weight", "bias")
	if err != nil {
		return nil, err
	}
	eps, err := epsOf(k)
	if err != nil {
		return nil, err
	}
	in, _ := k.rows("x")
	rows, g := x.Shape[0], k.growth(x.Shape[1])
	chosen := k.sample.choose(rows)
	y := k.rowTargetInFP32("y", x.DType, x.Shape, chosen)
	mean := k.rowStatistic("mean", rows, chosen)
	rstd := k.rowStatistic("rstd", rows, chosen)
	statistics := make([]moments, len(mean.R))
	eachRowWith(chosen, rows, in.memory(1), func(own [][]float64, i, r int64) {
		in.read(own, r)
		s := momentsOf(own[0], own[1], eps, g)
		statistics[i] = s
		setOne(mean, i, s.mean, judge.U32*s.g*s.meanAbs)
		// 4 for a root and reciprocal good to 2^-22, 1 for the division by cols and the sum with eps
		setOne(rstd, i, s.rstd, s.rstd*(s.rho/2+5*judge.U32))
	})
	fillRows(k, y, chosen, in.memory(0), func(own [][]float64, i, r int64, out row) {
		in.read(own, r)
		layernormRow(out, statistics[i], own[0], parameters[0], parameters[1], x.DType)
	})
	return []judge.Target{y, mean, rstd}, nil
}

// rowStatistic is an fp32 output with one value a row.
func (k *call) rowStatistic(name string, rows int64, chosen []int64) judge.Target {
	t := k.target(name, op.FP32, []int64{rows, 1}, chosen)
	t.Shape = []int64{rows}
	return t
}

// setOne fills one element whose allowance has no low-precision part.
func setOne(t judge.Target, i int64, r, allowance float64) {
	t.R[i], t.T[i], t.TFP32[i], t.Sim[i] = r, allowance, allowance, tensor.Round(t.DType, r, false)
}

// layernormRow is y = xhat*weight + bias with
//
//	T = |w|*rstd*(2*u32*|x-mean| + u32*g(n)*mean|x|) + |w*xhat|*(rho/2 + 6*u32) + 4*u32*(|w*xhat| + |bias|)
//
// that is |w|*e, and the product and the sum.
func layernormRow(out row, s moments, x, weight, bias []float64, d op.DType) {
	for i := range x {
		xhat, e := s.normalized(x[i], false)
		scaled := float64(xhat * weight[i])
		out.R[i] = scaled + bias[i]
		out.T[i] = weighted(math.Abs(weight[i]), e) + 4*judge.U32*(math.Abs(scaled)+math.Abs(bias[i]))
	}
	roundRow(out.Sim, out.R, d)
}

// layernormBack is what a backward starts from: the exact statistics of each row, and those the simulated contract sees (chained: mean and
// rstd rounded to fp32, as a forward saves them; else those that were given).
type layernormBack struct {
	in         rowInputs // x and dy
	weight     []float64
	rows, cols int64
	given      bool
	gRows      float64 // growth of errors in a sum over the rows
	exact, sim []moments
}

func layernormBackward(k *call) ([]judge.Target, error) {
	b, err := k.layernormBack()
	if err != nil {
		return nil, err
	}
	x, _ := k.tensor("x")
	weight, _ := k.tensor("weight")
	chosen := k.sample.choose(b.rows)
	dx := k.rowTargetInFP32("grad_x", x.DType, x.Shape, chosen)
	fillRows(k, dx, chosen, b.in.memory(5), func(own [][]float64, _, r int64, out row) {
		b.in.read(own, r)
		b.gradX(out, r, x.DType, own)
	})
	dweight := k.target("grad_weight", weight.DType, weight.Shape, nil)
	dbias := k.target("grad_bias", weight.DType, weight.Shape, nil)
	b.gradParameters(dweight, dbias)
	return []judge.Target{dx, dweight, dbias}, nil
}

func (k *call) layernormBack() (*layernormBack, error) {
	x, err := k.rank("x", 2)
	if err = firstError(err, k.parameters(x, "weight"), k.shaped("grad_y", x.Shape...)); err != nil {
		return nil, err
	}
	parameters, err := k.values("weight")
	if err != nil {
		return nil, err
	}
	eps, err := epsOf(k)
	if err != nil {
		return nil, err
	}
	in, err := k.rows("x", "grad_y")
	if err != nil {
		return nil, err
	}
	b := &layernormBack{in: in, weight: parameters[0], rows: x.Shape[0], cols: x.Shape[1], given: !k.chained(), gRows: k.growth(x.Shape[0])}
	b.exact, b.sim = make([]moments, b.rows), make([]moments, b.rows)
	var saved [][]float64
	if b.given {
		saved, err = k.values("mean", "rstd")
		if err = firstError(err, k.shaped("mean", b.rows), k.shaped("rstd", b.rows)); err != nil {
			return nil, err
		}
	}
	g := k.growth(b.cols)
	parallel.EachWith(b.rows, in.memory(0), func(own [][]float64, r int64) {
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
func (b *layernormBack) gradX(out row, r int64, d op.DType, own [][]float64) {
	x, dy, s := own[0], own[1], b.exact[r]
	xhat, e, wdy, both, scratch := own[2], own[3], own[4], own[5], own[6]
	for i, v := range x {
		xhat[i], e[i] = s.normalized(v, b.given)
	}
	n := float64(len(x))
	c1 := sum(products(wdy, b.weight, dy)) / n
	c2 := sum(products(both, wdy, xhat)) / n
	absolute := sum(absolutes(scratch, wdy)) / n
	product := sum(absolutes(scratch, both)) / n
	for i, v := range wdy {
		scratch[i] = weighted(math.Abs(v), e[i])
	}
	carried := sum(scratch) / n
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
		c2 = sum(products(both, wdy, xhat)) / n
	}
	for i, w := range wdy {
		out.Sim[i] = s.rstd * (w - c1 - float64(xhat[i]*c2))
	}
	roundRow(out.Sim, out.Sim, d)
}

// rowBlock is how many rows are added up before their sum joins the total, so that the error of a long column stays small.
const rowBlock = 128

// gradParameters fills dweight = sum over rows of dy*xhat and dbias = sum over rows of dy, with
//
//	T_dweight = u32*g(rows)*sum|dy*xhat| + sum(|dy|*e)      T_dbias = u32*g(rows)*sum|dy|
func (b *layernormBack) gradParameters(dweight, dbias judge.Target) {
	const stripe = 64 // columns one task takes
	g := judge.U32 * b.gRows
	parallel.Each((b.cols+stripe-1)/stripe, func(task int64) {
		first, last := task*stripe, min((task+1)*stripe, b.cols)
		total, part := make([]parameterSums, last-first), make([]parameterSums, last-first)
		x, dy := make([]float64, last-first), make([]float64, last-first)
		for r := range b.rows {
			b.in.tensors[0].DecodeRow(x, r, first)
			b.in.tensors[1].DecodeRow(dy, r, first)
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
			setOne(dbias, c, s.bias, g*s.biasAbs)
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
	p.carried += weighted(size, e)
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
