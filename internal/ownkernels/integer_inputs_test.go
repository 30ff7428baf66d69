package ownkernels

import (
	"fmt"
	"math"
	"testing"

	"triad/internal/backend"
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

// An input that the operator does not read, since an attribute is 0, has no NaN and no infinity for a user's
// function, and its other numbers; with another attribute it stays as it is.
func TestFiniteWhereUnread(t *testing.T) {
	f := &File{interpretation: Interpretation{Spec: &op.Spec{Own: op.OwnSpec{
		Unread: map[string]string{"c": "beta"},
	}}}}
	data := tensor.Encode(op.FP16, []float64{1, math.NaN(), math.Inf(-1), -2})
	for beta, want := range map[float64][]float64{0: {1, 0, 0, -2}, 0.5: {1, math.NaN(), math.Inf(-1), -2}} {
		job := f.withFiniteUnread(backend.Job{
			Inputs: []tensor.Tensor{{Name: "c", DType: op.FP16, Data: data}},
			Attrs:  []backend.AttrRef{{Name: "beta", Number: beta}},
		})
		if got := tensor.Decode(op.FP16, job.Inputs[0].Data); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("beta = %v: %v, want %v", beta, got, want)
		}
	}
	if got := tensor.Decode(op.FP16, data); !math.IsNaN(got[1]) {
		t.Errorf("the case itself is changed: %v", got)
	}
}
