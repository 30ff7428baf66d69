package linearcrossentropy

import (
	"math"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

var (
	nan, inf = math.NaN(), math.Inf(1)
	none     = -100.0 // a target that is ignored
)

// TestMeanOverNothing: the mean over nothing is 0 or NaN, as in libraries, and nothing else.
func TestMeanOverNothing(t *testing.T) {
	for reduction, orNaN := range map[string]bool{"mean": true, "sum": false} {
		want := truthOf(t, op.Case{Pass: op.Forward, Distribution: "normal"},
			map[string]int64{"tokens": 2, "dim": 2, "classes": 3}, reduction,
			truthtest.Literal("hidden", op.FP32, []float64{1, 2, 3, 4}, 2, 2),
			truthtest.Literal("weight", op.FP32, []float64{1, 2, 3, 4, 5, 6}, 3, 2),
			truthtest.Literal("target", op.I64, []float64{none, none}, 2))
		truthtest.AcceptsAt(t, reduction, want.Outputs[0], 0,
			map[float64]bool{0: true, nan: orNaN, 1: false, inf: false})
	}
}

// TestGradientsOfAnIgnoredNaN: the gradients to which an ignored token adds are NaN too where it contains
// NaN: 0*NaN is NaN. Another token's are not.
func TestGradientsOfAnIgnoredNaN(t *testing.T) {
	want := truthOf(t, op.Case{Pass: op.Backward, Distribution: "non_finite", Saved: "own"},
		map[string]int64{"tokens": 2, "dim": 1, "classes": 2}, "sum",
		truthtest.Literal("hidden", op.FP32, []float64{nan, 2}, 2, 1),
		truthtest.Literal("weight", op.FP32, []float64{1, 1}, 2, 1),
		truthtest.Literal("target", op.I64, []float64{none, 1}, 2),
		truthtest.Literal("grad_loss", op.FP32, []float64{1}, 1))
	truthtest.AcceptsAt(t, "grad_hidden", want.Outputs[0], 0, map[float64]bool{0: true, nan: true, 1: false})
	truthtest.AcceptsAt(t, "grad_hidden", want.Outputs[0], 1, map[float64]bool{0: true, nan: false, 1: false})
	truthtest.AcceptsAt(t, "grad_weight", want.Outputs[1], 0, map[float64]bool{1: true, nan: true, 0: false})
}

// truthOf returns the truth of a case in fp32.
func truthOf(t *testing.T, c op.Case, dims map[string]int64, reduction string,
	in ...tensor.Tensor,
) judge.Truth {
	t.Helper()
	o, err := truth.Get("linear_cross_entropy")
	if err != nil {
		t.Fatal(err)
	}
	c.DType = "fp32"
	if c, err = o.Spec.NewCase(c, dims, map[string]string{"reduction": reduction}); err != nil {
		t.Fatal(err)
	}
	return truthtest.TruthFor(t, c, "fp32", in)
}
