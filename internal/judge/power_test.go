package judge

import (
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// TestPowerOfOneNumber: for an output that is one number by definition, power tests whether twice the number
// plus 1 would pass, in place of its mean, which is right.
func TestPowerOfOneNumber(t *testing.T) {
	for _, c := range []struct {
		r, t    float64
		dtype   op.DType
		uniform bool
		why     string
	}{
		{7, 1e-3, op.FP32, true, ""},
		{7, 1e-3, op.FP32, false, "the mean everywhere"},
		{7, 9, op.FP32, true, "zeros"},
		{-3, 2.5, op.FP32, true, "twice the truth and 1"}, // -5
		{-1, 0, op.FP32, true, "twice the truth and 1"},   // the same number
		{1e6, 0, op.FP16, true, ""},                       // infinity there, as twice that is
		{inf, 0, op.FP32, true, ""},
		{nan, 0, op.FP32, true, ""},
	} {
		one := target(c.dtype, []float64{c.r}, c.t)
		one.Uniform = c.uniform
		if p := PowerOf(one, tensor.Tensor{}, nil); p.Why != c.why || p.None != (c.why != "") {
			t.Errorf("%v within %v, by definition one number %v: %+v, want %q", c.r, c.t, c.uniform, p, c.why)
		}
	}
}
