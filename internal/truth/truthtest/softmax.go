package truthtest

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
)

// Weight returns the weight e^x of a softmax.
func (a Arithmetic) Weight(x float32) float32 {
	if a.Bug == "exp2 without log2(e)" {
		return float32(math.Exp2(float64(x)))
	}
	return float32(a.Exp(float64(x)))
}

// StoredWeight returns a weight as it enters the next product of operands of dtype d.
func (a Arithmetic) StoredWeight(d op.DType, w float32) float32 {
	switch {
	case a.Bug == "P in e4m3":
		return float32(tensor.Round(op.E4M3, float64(w), true))
	case a.Bug == "P in bf16":
		return float32(tensor.Round(op.BF16, float64(w), false))
	case a.LowP && d != op.FP32:
		return float32(tensor.Round(d, float64(w), false))
	}
	return w
}

// Accumulate adds w times the first elements of x to an fp32 sum.
func (a Arithmetic) Accumulate(to []float32, w float32, x []float64) {
	for c := range to {
		to[c] += w * float32(x[c])
		if a.Bug == "sums in bf16" {
			to[c] = float32(tensor.Round(op.BF16, float64(to[c]), false))
		}
	}
}

// Wide returns fp32 numbers in fp64.
func Wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
