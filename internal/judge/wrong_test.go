package judge

import (
	"fmt"
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// TestEveryRejected: wrong elements are classified by value, position and neighbours.
func TestEveryRejected(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	want := []float64{1, nan, nan, nan, inf, 0, 0, 0}
	target := Target{
		Name: "y", DType: op.FP32, Shape: []int64{4, 2}, R: want,
		T: make([]float64, len(want)), TFP32: make([]float64, len(want)), Sim: make([]float64, len(want)),
	}
	for _, c := range []struct {
		got  []float64
		want string
	}{
		{want, ""}, // nothing is wrong: nothing to explain
		{[]float64{1, 0, nan, nan, inf, 0, 0, 0}, "nan lost [0 1]"},
		{[]float64{1, nan, inf, nan, inf, 0, 0, 0}, "nan lost [1 0] of NaN"},
		{[]float64{2, nan, nan, nan, 5, 0, 0, nan}, "finite [0 0], infinite [2 0], nan gained [3 1] of 0"},
	} {
		out := tensor.New("y", op.FP32, target.Shape)
		out.SetFloat64s(c.got)
		text := ""
		every := EveryRejected(target, out.Data, func(e Rejected) bool {
			if text != "" {
				text += ", "
			}
			text += fmt.Sprint(e.Kind, " ", e.Index)
			if e.RowOfNaN {
				text += " of NaN"
			}
			if e.RowOfZeros {
				text += " of 0"
			}
			return true
		})
		if text != c.want || every != (c.want != "") {
			t.Errorf("%v: %q, every %v; want %q", c.got, text, every, c.want)
		}
		if EveryRejected(target, out.Data, func(Rejected) bool { return false }) {
			t.Errorf("%v: it holds of every one, and never does", c.got)
		}
	}
	if EveryRejected(target, []byte{1}, func(Rejected) bool { return true }) {
		t.Error("bytes of another size are looked at")
	}
}

// TestRejectedSize: the size of an error is measured in ulps of the dtype, in error bounds and between
// bounds, each rounded.
func TestRejectedSize(t *testing.T) {
	target := Target{
		Name: "y", DType: op.BF16, Shape: []int64{1}, R: []float64{1}, T: []float64{0.001},
		TFP32: []float64{0}, Sim: []float64{1},
	}
	out := tensor.New("y", op.BF16, target.Shape)
	out.SetFloat64s([]float64{1 + 3*0x1p-7})
	EveryRejected(target, out.Data, func(e Rejected) bool {
		if e.WithinULPs(2.9) || !e.WithinULPs(3) {
			t.Error("it is 3 ulp off")
		}
		if e.WithinT(0.001*19) || !e.WithinT(0.001*20) {
			t.Error("RN(1 + T) is 1 + 3/128 from T = 2.5/128 on")
		}
		if e.Between(0, 1+2.4*0x1p-7) || !e.Between(1, 1+2.6*0x1p-7) || e.Between(1.1, 2) {
			t.Error("bounds are rounded to bf16")
		}
		return true
	})
}
