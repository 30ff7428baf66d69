// Package int8gemm is the truth of a product of matrices of quantised integers, quantised again.
package int8gemm

import (
	"fmt"
	"math"
	"sync/atomic"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Register("int8_gemm", truth.Definition{Forward: forward, Permits: []string{"fp32"}})

// forward computes c = clamp(RN(t) + zero_c) row by row, with t = sum_k (a - zero_a)(b - zero_b) times
// scale_a*scale_b/scale_c. The sums are exact in int32, and in fp64 here.
func forward(k *truth.Request) ([]judge.Target, error) {
	a, errA := k.Rank("a", 2)
	b, errB := k.Rank("b", 2)
	if err := truth.FirstError(errA, errB); err != nil {
		return nil, err
	}
	m, inner, n := a.Shape[0], a.Shape[1], b.Shape[1]
	if b.Shape[0] != inner {
		return nil, fmt.Errorf("a has shape %v and b %v: want as many columns as rows", a.Shape, b.Shape)
	}
	second, zeroA := b.Float64s(), k.Attrs.Number("zero_a")
	for i := range second {
		second[i] -= k.Attrs.Number("zero_b")
	}
	q := quantiserOf(k.Attrs)
	var beyond atomic.Bool // a sum is larger than fp32 is sure to hold
	chosen := k.Sample.Choose(m)
	c := k.Target("c", op.I8, []int64{m, n}, chosen)
	c.TFP32 = c.T // nothing is stored low
	memory := func() [][]float64 { return [][]float64{make([]float64, inner), make([]float64, n)} }
	truth.EachRowWith(chosen, m, memory, func(own [][]float64, i, r int64) {
		row, sums := own[0], own[1]
		a.DecodeRow(row, r, 0)
		clear(sums)
		for j, v := range row {
			truth.Axpy(sums, v-zeroA, second[int64(j)*n:int64(j+1)*n])
		}
		out := truth.RowOf(c, i, n)
		for j, sum := range sums {
			out.R[j], out.T[j] = q.element(sum)
			if math.Abs(sum) > exactSum {
				beyond.Store(true)
			}
			out.Sim[j] = tensor.Round(op.I8, out.R[j], false)
		}
	})
	if k.Distribution == "integers" && q.exact && !beyond.Load() {
		c = truth.Exactly(c)
	}
	return []judge.Target{c}, nil
}

// quantiser computes a number of c from a sum.
type quantiser struct {
	a, b, c, zero float64
	exact         bool // the scales are powers of two, so that fp32 multiplies and divides exactly
}

func quantiserOf(attributes op.Attrs) quantiser {
	q := quantiser{
		a: attributes.Number("scale_a"), b: attributes.Number("scale_b"), c: attributes.Number("scale_c"),
		zero: attributes.Number("zero_c"), exact: true,
	}
	for _, s := range []float64{q.a, q.b, q.c} {
		if fraction, exponent := math.Frexp(s); fraction != 0.5 || exponent < -20 || exponent > 20 {
			q.exact = false
		}
	}
	return q
}

// exactSum is the largest sum that fp32 surely holds exactly.
const exactSum = 1 << 24

// element returns the result of a sum, with the error bound
//
//	T = 4*u32*|t|
//
// for the sum as an fp32 number and for three operations with the scales, or 0 where those are exact. A
// result beyond int8 is the nearest end, and nothing else is right.
func (q quantiser) element(sum float64) (r, t float64) {
	scaled := sum * q.a * q.b / q.c
	if q.exact && math.Abs(sum) <= exactSum {
		return clamped(math.RoundToEven(scaled) + q.zero), 0
	}
	r, t = scaled+q.zero, 4*judge.U32*math.Abs(scaled)
	if r-t > math.MaxInt8+0.5 || r+t < math.MinInt8-0.5 {
		return clamped(r), 0
	}
	return clamped(r), t
}

func clamped(x float64) float64 { return max(math.MinInt8, min(math.MaxInt8, x)) }
