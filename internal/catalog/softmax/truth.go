// Package softmax is the truth of softmax: softmax along rows.
package softmax

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
)

var _ = truth.Register("softmax", truth.Definition{
	Forward: forward, Backward: backward, Permits: []string{"fp32", "product16"}, ByRows: []string{"rows"},
})

// fillRow computes p = exp(x - max) / sum and its error bound
//
//	t = p*u32*(2|x-m| + 10 + g(n)) + 2^-126
//
// 2|x-m| for the rounding of x-m and of exp's argument reduction, 10 for exp, reciprocal and products, g(n)
// for the sum, 2^-126 where p underflows; 0 where x is -inf and p therefore exactly 0. A row of only -inf,
// with +inf or with NaN is NaN.
func fillRow(x, p, t []float64, g float64) {
	m := math.Inf(-1)
	for _, v := range x {
		m = max(m, v) // NaN wins
	}
	for i, v := range x {
		p[i] = math.Exp(v - m)
	}
	l := truth.Sum(p)
	for i, v := range x {
		p[i] /= l
		t[i] = truth.Weighted(p[i], judge.U32*(2*math.Abs(v-m)+10+g)) + judge.Tiny
		if math.IsInf(v, -1) {
			t[i] = 0
		}
	}
}

func forward(k *truth.Request) ([]judge.Target, error) {
	x, err := k.Rank("x", 2)
	if err != nil {
		return nil, err
	}
	in, _ := k.Rows("x")
	chosen := k.Sample.Choose(x.Shape[0])
	y := k.RowTargetInFP32("y", x.DType, x.Shape, chosen)
	g := k.Growth(in.Cols)
	truth.FillRows(k, y, chosen, in.Memory(0), func(own [][]float64, _, r int64, out truth.Row) {
		in.Read(own, r)
		fillRow(own[0], out.R, out.T, g)
		truth.RoundRow(out.Sim, out.R, x.DType)
	})
	if k.Distribution == "integers" && truth.EveryRow(y, oneHot) {
		y = truth.Exactly(y)
	}
	return []judge.Target{y}, nil
}

// oneHot reports whether every value is 0 or 1: a gap of 1024 leaves nothing of the other exponentials in
// fp32 or fp64, so that every sum is exact.
func oneHot(y []float64) bool {
	for _, v := range y {
		if v != 0 && v != 1 {
			return false
		}
	}
	return true
}

func backward(k *truth.Request) ([]judge.Target, error) {
	dy, err := k.Rank("grad_y", 2)
	if err != nil {
		return nil, err
	}
	saved := "y"
	if k.Chained() {
		saved = "x"
	}
	in, err := k.Rows("grad_y", saved)
	if err != nil {
		return nil, err
	}
	chosen := k.Sample.Choose(dy.Shape[0])
	dx := k.RowTarget("grad_x", dy.DType, dy.Shape, chosen)
	g := k.Growth(in.Cols)
	truth.FillRows(k, dx, chosen, in.Memory(6), func(own [][]float64, _, r int64, out truth.Row) {
		in.Read(own, r)
		b := gradient{
			dtype: dy.DType, lowProduct: k.Rules.LowProduct, g: g, dy: own[0], p: own[1],
			scratch: own[2:4],
		}
		if k.Chained() {
			b.forward(own[4:])
		}
		b.fill(out)
	})
	return []judge.Target{dx}, nil
}

// gradient is one row of dx = p*(dy - d) with d = sum(p*dy).
type gradient struct {
	dtype      op.DType
	lowProduct bool
	g          float64 // growth of errors in a sum over the row
	p, dy      []float64
	stored     []float64 // p as it is saved; nil: p itself was saved
	// chained: the error of the saved p under the contract, and without the rounding to the dtype
	t, tFP32 []float64
	scratch  [][]float64
}

// forward turns x into p with the error of saved values: t = T_y + u*(|y| + T_y) + half the smallest
// subnormal.
func (b *gradient) forward(memory [][]float64) {
	x := b.p
	b.p, b.t, b.tFP32, b.stored = memory[0], memory[1], memory[2], memory[3]
	fillRow(x, b.p, b.t, b.g)
	u, lost := truth.Unit(b.dtype), truth.HalfSubnormal(b.dtype)
	truth.RoundRow(b.stored, b.p, b.dtype)
	for i, p := range b.p {
		b.tFP32[i] = 0
		if p == 0 && b.t[i] == 0 {
			continue // saved as exactly 0
		}
		b.tFP32[i] = b.t[i] + judge.U32*(p+b.t[i]) + judge.Tiny
		b.t[i] += u*(p+b.t[i]) + lost
	}
}

// fill computes the row. The error bound is
//
//	|p|*u32*(g(n)*sum(|p*dy|) + 2|dy| + 4|d|) + 4*u32*|R| + 4*2^-126
//	                                                 fp32 product, sum and difference; underflow
//	+ u*(|p*dy| + |p|*sum(|p*dy|)), fp16 also + 2^-24  where p*dy is stored low
//	+ t*|dy - d| + (p + t)*sum(t*|dy|)               chained: the saved p is off by t
//
// and 0 where the gradient is exactly 0: p is 0 and saved as that, the whole row of dy is 0, or the row has
// one column, whose p is 1 and whose d is dy.
func (b *gradient) fill(out truth.Row) {
	n := len(b.p)
	product := truth.Products(b.scratch[0], b.p, b.dy)
	d := truth.Sum(product)
	size := truth.Sum(truth.Absolutes(b.scratch[1], product))
	silent := truth.AllZero(b.dy)
	saved, savedFP32 := 0.0, 0.0
	if b.t != nil {
		saved, savedFP32 = b.carried(b.t), b.carried(b.tFP32)
	}
	g, u := b.g, truth.Unit(b.dtype)
	for i, p := range b.p {
		dy := b.dy[i]
		out.R[i] = p * (dy - d)
		if p == 0 && (b.t == nil || b.t[i] == 0) || n == 1 && p == 1 || silent && out.R[i] == 0 {
			continue
		}
		a := math.Abs(p)
		t := truth.Weighted(a, judge.U32*(g*size+2*math.Abs(dy)+4*math.Abs(d))) +
			4*judge.U32*math.Abs(out.R[i]) + 4*judge.Tiny
		out.TFP32[i], out.T[i] = t, t
		if b.t != nil {
			out.TFP32[i] += b.tFP32[i]*math.Abs(dy-d) + (a+b.tFP32[i])*savedFP32
			out.T[i] += b.t[i]*math.Abs(dy-d) + (a+b.t[i])*saved
		}
		if b.lowProduct {
			out.T[i] += u * (math.Abs(product[i]) + truth.Weighted(a, size))
			if b.dtype == op.FP16 {
				out.T[i] += 0x1p-24
			}
		}
	}
	b.simulate(out.Sim)
}

// carried returns sum(t*|dy|).
func (b *gradient) carried(t []float64) float64 {
	terms := b.scratch[1]
	for i, dy := range b.dy {
		terms[i] = truth.Weighted(math.Abs(dy), t[i])
	}
	return truth.Sum(terms)
}

// simulate computes the same mathematics, rounded where the contract stores a value: the saved p, p*dy if it
// is stored low, the result.
func (b *gradient) simulate(sim []float64) {
	p := b.p
	if b.stored != nil {
		p = b.stored
	}
	product := truth.Products(b.scratch[0], p, b.dy)
	if b.lowProduct {
		truth.RoundRow(product, product, b.dtype)
	}
	d := truth.Sum(product)
	for i := range p {
		sim[i] = p[i] * (b.dy[i] - d)
		if b.lowProduct {
			sim[i] = product[i] - p[i]*d
		}
	}
	truth.RoundRow(sim, sim, b.dtype)
}
