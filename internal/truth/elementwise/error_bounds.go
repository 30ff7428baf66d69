package elementwise

import (
	"math"

	"triad/internal/judge"
	"triad/internal/truth"
)

// Units returns the error bound T = u32*(input*|x| + result*|R|) of the first input x, plus the loss of
// products below fp32's normal range. The formula gives 0 where x is 0.
func Units(input, result float64) func(in []float64, r float64) float64 {
	return func(in []float64, r float64) float64 {
		if in[0] == 0 {
			return 0
		}
		return judge.U32*(input*math.Abs(in[0])+result*math.Abs(r)) + Lost(in[0])
	}
}

// Lost returns the loss of two products and one by x below fp32's normal range.
func Lost(x float64) float64 { return (2 + math.Abs(x)) * truth.Subnormal }

// Rounded returns u32*units*|value| plus the loss of a product below fp32's normal range; 0 for 0.
func Rounded(units, value float64) float64 {
	if value == 0 {
		return 0
	}
	return judge.U32*units*math.Abs(value) + truth.Subnormal
}
