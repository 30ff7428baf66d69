package truth_test

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

// The mean over nothing is 0 or NaN, as libraries have it, and nothing else.
func TestMeanOverNothing(t *testing.T) {
	logits := truthtest.Literal("logits", op.FP32, []float64{1, 2, 3, 4, 5, 6}, 2, 3)
	hidden := truthtest.Literal("hidden", op.FP32, []float64{1, 2, 3, 4}, 2, 2)
	weight := truthtest.Literal("weight", op.FP32, []float64{1, 2, 3, 4, 5, 6}, 3, 2)
	target := truthtest.Literal("target", op.I64, []float64{none, none}, 2)
	for _, c := range []struct {
		op   string
		dims map[string]int64
		in   []tensor.Tensor
	}{
		{"cross_entropy", map[string]int64{"rows": 2, "classes": 3}, []tensor.Tensor{logits, target}},
		{
			"linear_cross_entropy",
			map[string]int64{"tokens": 2, "dim": 2, "classes": 3},
			[]tensor.Tensor{hidden, weight, target},
		},
	} {
		for _, reduction := range []string{"mean", "sum"} {
			truth := lossTruth(t, c.op, "normal", reduction, c.dims, c.in)
			wants(t, c.op+" "+reduction+" of nothing", truth, 0, map[float64]bool{0: true, nan: reduction == "mean", 1: false, inf: false})
		}
	}
}

// Where the maximum of a row is infinite, lse and loss are what the formula gives, as torch.logsumexp does,
// or NaN, as torch's cross_entropy has it.
func TestLossOfInfiniteLogits(t *testing.T) {
	dims := map[string]int64{"rows": 3, "classes": 3}
	logits := truthtest.Literal("logits", op.FP32, []float64{
		inf, 2, 3, // the target is another class
		inf, 2, 3, // the target is the infinity
		-inf, -inf, -inf,
	}, 3, 3)
	in := []tensor.Tensor{logits, truthtest.Literal("target", op.I64, []float64{1, 0, 2}, 3)}
	truth := lossTruth(t, "cross_entropy", "non_finite", "none", dims, in)
	for i, want := range []map[float64]bool{
		{inf: true, nan: true, -inf: false, 5: false},
		{inf: false, nan: true, -inf: false, 5: false},
		{inf: false, nan: true, -inf: false, 0: false},
	} {
		accepts(t, "loss", truth.Outputs[0], int64(i), want)
	}
	for i, want := range []map[float64]bool{
		{inf: true, nan: true, 5: false}, {inf: true, nan: true, 5: false}, {-inf: true, nan: true, inf: false},
	} {
		accepts(t, "lse", truth.Outputs[1], int64(i), want)
	}
	in[0] = truthtest.Literal("logits", op.FP32, []float64{inf, 2, 3, 1, 2, 3, 4, 5, 6}, 3, 3)
	in[1] = truthtest.Literal("target", op.I64, []float64{1, 0, 2}, 3)
	wants(t, "a sum with an infinite loss", lossTruth(t, "cross_entropy", "non_finite", "sum", dims, in), 0,
		map[float64]bool{inf: true, nan: true, 5: false})
}

// The gradient of a row with +inf follows lse as the forward had it: exp(x - inf) is 0.
func TestGradientOfInfiniteLogits(t *testing.T) {
	o, err := truth.Get("cross_entropy")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Backward, DType: "fp32", Distribution: "non_finite", Saved: "own"},
		map[string]int64{"rows": 1, "classes": 3}, map[string]string{"reduction": "none"})
	if err != nil {
		t.Fatal(err)
	}
	truth := truthtest.TruthFor(t, c, "fp32", []tensor.Tensor{
		truthtest.Literal("logits", op.FP32, []float64{inf, 2, 3}, 1, 3),
		truthtest.Literal("target", op.I64, []float64{1}, 1),
		truthtest.Literal("grad_loss", op.FP32, []float64{2}, 1),
	})
	for i, want := range []map[float64]bool{
		{nan: true, 0: false, 2: false}, {nan: true, -2: true, 0: false}, {nan: true, 0: true, -2: false},
	} {
		accepts(t, "grad_logits", truth.Outputs[0], int64(i), want)
	}
}

// The gradients to which an ignored token adds are NaN too where it holds NaN: 0*NaN is NaN. Another token's
// are not.
func TestGradientsOfAnIgnoredNaN(t *testing.T) {
	o, err := truth.Get("linear_cross_entropy")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Backward, DType: "fp32", Distribution: "non_finite", Saved: "own"},
		map[string]int64{"tokens": 2, "dim": 1, "classes": 2}, map[string]string{"reduction": "sum"})
	if err != nil {
		t.Fatal(err)
	}
	truth := truthtest.TruthFor(t, c, "fp32", []tensor.Tensor{
		truthtest.Literal("hidden", op.FP32, []float64{nan, 2}, 2, 1),
		truthtest.Literal("weight", op.FP32, []float64{1, 1}, 2, 1),
		truthtest.Literal("target", op.I64, []float64{none, 1}, 2),
		truthtest.Literal("grad_loss", op.FP32, []float64{1}, 1),
	})
	accepts(t, "grad_hidden", truth.Outputs[0], 0, map[float64]bool{0: true, nan: true, 1: false})
	accepts(t, "grad_hidden", truth.Outputs[0], 1, map[float64]bool{0: true, nan: false, 1: false})
	accepts(t, "grad_weight", truth.Outputs[1], 0, map[float64]bool{1: true, nan: true, 0: false})
}

func lossTruth(t *testing.T, name, distribution, reduction string, dims map[string]int64,
	in []tensor.Tensor,
) judge.Truth {
	t.Helper()
	o, err := truth.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32", Distribution: distribution}, dims,
		map[string]string{"reduction": reduction})
	if err != nil {
		t.Fatal(err)
	}
	return truthtest.TruthFor(t, c, "fp32", in)
}

// wants asks accepts of the only element of an output.
func wants(t *testing.T, what string, truth judge.Truth, output int, want map[float64]bool) {
	t.Helper()
	accepts(t, what, truth.Outputs[output], 0, want)
}

// accepts says which values of one element are right, where the others are what the truth has.
func accepts(t *testing.T, what string, target judge.Target, at int64, want map[float64]bool) {
	t.Helper()
	for value, ok := range want {
		y := append([]float64{}, target.R...)
		y[at] = value
		plain := target
		plain.Independent = false
		v := truthtest.Judged(judge.Truth{Contract: "fp32", Outputs: []judge.Target{plain}}, y)[0]
		if got := v.Status == op.StatusPass; got != ok {
			t.Errorf("%s[%d] = %v: %v %s, want it accepted: %v", what, at, value, v.Status, v.Sentence, ok)
		}
	}
}
