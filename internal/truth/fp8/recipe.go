// Package fp8 makes numbers fp8 as a recipe does, rounding by rounding: the scale of each group of a matrix,
// and the codes.
package fp8

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
)

// Recipe makes scales and codes as a library does. torchao stores the factor that numbers are multiplied by,
// and divides in fp64; DeepSeek stores its inverse, and divides in fp32.
type Recipe struct {
	Format   op.DType // E4M3 or E5M2
	DeepSeek bool
	Powers   bool // scales are powers of two
}

// Most returns the format's largest number.
func (r Recipe) Most() float32 {
	if r.Format == op.E5M2 {
		return 57344
	}
	return 448
}

// Scale returns what is stored for a group whose largest magnitude is amax, and the factor of its numbers.
func (r Recipe) Scale(amax float64) (stored, factor float64) {
	if !r.DeepSeek {
		s := float32(float64(r.Most()) / max(amax, 1e-12))
		if r.Powers {
			s = powerBelow(s)
		}
		return float64(s), float64(s)
	}
	a := max(float32(amax), 1e-4)
	s, f := a/r.Most(), r.Most()/a
	if r.Powers {
		if below := powerBelow(s); below < s {
			s = 2 * below
		}
		f = 1 / s
	}
	return float64(s), float64(f)
}

// Multiplier returns what the codes of a group are multiplied by, in fp32, from what is stored.
func (r Recipe) Multiplier(stored float64) float64 {
	if r.DeepSeek {
		return stored
	}
	return float64(1 / float32(stored))
}

// powerBelow returns the largest power of two that is at most s, which is normal or no number above 0.
func powerBelow(s float32) float32 {
	const mantissa = 1<<23 - 1
	if !(s > 0) || math.IsInf(float64(s), 1) {
		return s
	}
	return math.Float32frombits(math.Float32bits(s) &^ mantissa)
}

// Code returns the fp8 number of x.
func (r Recipe) Code(x, factor float64) float64 {
	product, most := float64(float32(x)*float32(factor)), float64(r.Most())
	return tensor.Round(r.Format, max(-most, min(product, most)), false)
}
