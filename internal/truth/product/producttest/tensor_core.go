package producttest

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// MMAStep is the number of fp8 terms along k that a tensor-core instruction adds at once.
const MMAStep = 32

// Adder adds the products of up to 32 numbers to a sum.
type Adder func(sum float64, x, y []float64) float64

// Sum adds products from 0 on, 32 at a time.
func (add Adder) Sum(x, y []float64) float64 {
	sum := 0.0
	for first := 0; first < len(x); first += MMAStep {
		last := min(first+MMAStep, len(x))
		sum = add(sum, x[first:last], y[first:last])
	}
	return sum
}

// InFP32 adds in sequence.
func InFP32(sum float64, x, y []float64) float64 {
	for k, v := range x {
		sum = truthtest.F32(sum + v*y[k])
	}
	return sum
}

// TensorCore returns Hopper's adder for factors of two formats: products and sum are cut 13 bits below the
// largest leading bit, which for a product follows from the exponents that its factors store; a subnormal's
// is that of the smallest normal number.
func TensorCore(x, y op.DType) Adder {
	fx, _ := tensor.FormatOf(x)
	fy, _ := tensor.FormatOf(y)
	return func(sum float64, x, y []float64) float64 {
		most := math.MinInt
		if sum != 0 {
			most = math.Ilogb(sum)
		}
		for k, v := range x {
			if !truth.IsFinite(sum + v*y[k]) {
				return InFP32(sum, x, y)
			}
			if v*y[k] != 0 {
				most = max(most, max(math.Ilogb(v), fx.EMin)+max(math.Ilogb(y[k]), fy.EMin))
			}
		}
		if most == math.MinInt {
			return 0
		}
		grid := math.Ldexp(1, most-13)
		total := math.Trunc(sum/grid) * grid
		for k, v := range x {
			total += math.Trunc(v*y[k]/grid) * grid
		}
		return total
	}
}
