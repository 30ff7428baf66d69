package judge

import (
	"math"
	"math/rand/v2"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// TestLargestErrors: the largest absolute and relative errors of a verdict equal those over its elements one
// by one, for right and wrong outputs, with few elements and many.
func TestLargestErrors(t *testing.T) {
	random := rand.New(rand.NewPCG(41, 42))
	for _, d := range []op.DType{op.FP32, op.BF16, op.FP16, op.I32} {
		for _, n := range []int{1, 40, 3 * chunk} {
			for _, far := range []bool{false, true} {
				r, y := make([]float64, n), make([]float64, n)
				for i := range r {
					r[i] = 100 * random.NormFloat64()
					if i%7 == 3 {
						r[i] = 0
					}
					y[i] = tensor.Round(d, r[i], false)
				}
				if far {
					y[n/2] += 64
					y[n/3] = tensor.Round(d, y[n/3]*1.5+1, false)
				}
				absolute, relative := 0.0, 0.0
				for i := range r {
					stored := tensor.Round(d, y[i], false)
					absolute = math.Max(absolute, math.Abs(stored-r[i]))
					relative = math.Max(relative, math.Abs(stored-r[i])/(math.Abs(r[i])+1e-8))
				}
				x := target(d, r, 0)
				v := verdict(x, answer(x, y...))
				if v.AbsoluteMax != absolute || math.Abs(v.RelativeMax-relative) > 1e-15*relative {
					t.Errorf("%v, %d elements, far %v: %g and %g, want %g and %g", d, n, far, v.AbsoluteMax,
						v.RelativeMax, absolute, relative)
				}
			}
		}
	}
	for name, c := range map[string]struct{ y, r float64 }{
		"NaN for a number": {nan, 1}, "a number for NaN": {1, nan}, "a number for an infinity": {1, inf},
		"an infinity for a number": {inf, 1},
	} {
		x := target(op.FP32, []float64{1, c.r, 2}, 0)
		if v := verdict(x, answer(x, 1, c.y, 2)); !math.IsInf(v.AbsoluteMax, 1) ||
			!math.IsInf(v.RelativeMax, 1) {
			t.Errorf("%s: %g and %g", name, v.AbsoluteMax, v.RelativeMax)
		}
	}
	x := target(op.FP32, []float64{inf, nan, 2}, 0)
	if v := verdict(x, answer(x, inf, nan, 2)); v.AbsoluteMax != 0 || v.RelativeMax != 0 {
		t.Errorf("due infinities: %g and %g", v.AbsoluteMax, v.RelativeMax)
	}
}
