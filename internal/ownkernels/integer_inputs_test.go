package ownkernels

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// A function of ints is only given small integers: others would be rounded.
func TestIntegersAlone(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64
		want   bool
	}{
		"small ones":     {[]float64{-2, 0, 8}, true},
		"a fraction":     {[]float64{1, 0.5}, false},
		"a large one":    {[]float64{1, 9}, false},
		"minus zero":     {[]float64{math.Copysign(0, -1)}, false},
		"NaN":            {[]float64{math.NaN()}, false},
		"an infinity":    {[]float64{math.Inf(1)}, false},
		"nothing at all": {nil, true},
	} {
		shape := []int64{int64(len(c.values))}
		x := tensor.Tensor{
			Name: "x", DType: op.FP32, Shape: shape, Stride: tensor.Contiguous(shape),
			Data: tensor.Encode(op.FP32, c.values),
		}
		if got := areIntegers([]tensor.Tensor{x}, mostInteger); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
