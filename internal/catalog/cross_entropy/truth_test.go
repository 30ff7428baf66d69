package crossentropy

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
			map[string]int64{"rows": 2, "classes": 3}, reduction,
			truthtest.Literal("logits", op.FP32, []float64{1, 2, 3, 4, 5, 6}, 2, 3),
			truthtest.Literal("target", op.I64, []float64{none, none}, 2))
		truthtest.AcceptsAt(t, reduction, want.Outputs[0], 0,
			map[float64]bool{0: true, nan: orNaN, 1: false, inf: false})
	}
}

// TestLossOfInfiniteLogits: where the maximum of a row is infinite, lse and loss have the values of the
// formula, as with torch.logsumexp, or NaN, as with torch's cross_entropy.
func TestLossOfInfiniteLogits(t *testing.T) {
	dims := map[string]int64{"rows": 3, "classes": 3}
	forward := op.Case{Pass: op.Forward, Distribution: "non_finite"}
	want := truthOf(t, forward, dims, "none", truthtest.Literal("logits", op.FP32, []float64{
		inf, 2, 3, // the target is another class
		inf, 2, 3, // the target is the infinity
		-inf, -inf, -inf,
	}, 3, 3), truthtest.Literal("target", op.I64, []float64{1, 0, 2}, 3))
	for i, right := range []map[float64]bool{
		{inf: true, nan: true, -inf: false, 5: false},
		{inf: false, nan: true, -inf: false, 5: false},
		{inf: false, nan: true, -inf: false, 0: false},
	} {
		truthtest.AcceptsAt(t, "loss", want.Outputs[0], int64(i), right)
	}
	for i, right := range []map[float64]bool{
		{inf: true, nan: true, 5: false},
		{inf: true, nan: true, 5: false},
		{-inf: true, nan: true, inf: false},
	} {
		truthtest.AcceptsAt(t, "lse", want.Outputs[1], int64(i), right)
	}
	want = truthOf(t, forward, dims, "sum",
		truthtest.Literal("logits", op.FP32, []float64{inf, 2, 3, 1, 2, 3, 4, 5, 6}, 3, 3),
		truthtest.Literal("target", op.I64, []float64{1, 0, 2}, 3))
	truthtest.AcceptsAt(t, "sum", want.Outputs[0], 0, map[float64]bool{inf: true, nan: true, 5: false})
}

// TestGradientOfInfiniteLogits: the gradient of a row with +inf follows lse of the forward: exp(x - inf) is
// 0.
func TestGradientOfInfiniteLogits(t *testing.T) {
	want := truthOf(t, op.Case{Pass: op.Backward, Distribution: "non_finite", Saved: "own"},
		map[string]int64{"rows": 1, "classes": 3}, "none",
		truthtest.Literal("logits", op.FP32, []float64{inf, 2, 3}, 1, 3),
		truthtest.Literal("target", op.I64, []float64{1}, 1),
		truthtest.Literal("grad_loss", op.FP32, []float64{2}, 1))
	for i, right := range []map[float64]bool{
		{nan: true, 0: false, 2: false}, {nan: true, -2: true, 0: false}, {nan: true, 0: true, -2: false},
	} {
		truthtest.AcceptsAt(t, "grad_logits", want.Outputs[0], int64(i), right)
	}
}

// TestSmoothedGradientThroughASum: with label smoothing autograd computes p*sum(q) - q. A sum of fp32 that
// adds one term after the other, as torch.compile's on a CPU, is right; a gradient with 1 % more smoothing is
// not.
func TestSmoothedGradientThroughASum(t *testing.T) {
	const classes, smoothing = 2049, float32(0.3)
	same := make([]float64, classes)
	want := truthWith(t, op.Case{Pass: op.Backward, Distribution: "shifted", Saved: "own"},
		map[string]int64{"rows": 1, "classes": classes},
		map[string]string{"reduction": "none", "label_smoothing": "0.3"},
		truthtest.Literal("logits", op.FP32, same, 1, classes),
		truthtest.Literal("target", op.I64, []float64{0}, 1),
		truthtest.Literal("grad_loss", op.FP32, []float64{1}, 1))
	sum := 1 - smoothing + smoothing/classes
	for range classes - 1 {
		sum += smoothing / classes
	}
	p, grad := float32(1)/classes, want.Outputs[0]
	for c := int64(0); c < classes; c += 64 {
		q := smoothing / classes
		if c == 0 {
			q += 1 - smoothing
		}
		truthtest.AcceptsAt(t, "grad_logits", grad, c, map[float64]bool{
			float64(p*sum - q): true, float64(p - 1.01*q): false,
		})
	}
}

// truthOf returns the truth of a case in fp32.
func truthOf(t *testing.T, c op.Case, dims map[string]int64, reduction string,
	in ...tensor.Tensor,
) judge.Truth {
	t.Helper()
	return truthWith(t, c, dims, map[string]string{"reduction": reduction}, in...)
}

// truthWith is truthOf with more attributes.
func truthWith(t *testing.T, c op.Case, dims map[string]int64, attributes map[string]string,
	in ...tensor.Tensor,
) judge.Truth {
	t.Helper()
	o, err := truth.Get("cross_entropy")
	if err != nil {
		t.Fatal(err)
	}
	c.DType = "fp32"
	if c, err = o.Spec.NewCase(c, dims, attributes); err != nil {
		t.Fatal(err)
	}
	return truthtest.TruthFor(t, c, "fp32", in)
}
