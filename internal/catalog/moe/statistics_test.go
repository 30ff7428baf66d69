package moe

import (
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// TestFewTokensAreNoStatistic: all rows of an expert's gradient share the rounding errors of values that its
// tokens store: G4 does not apply to few tokens, nor to the router's gradient, whose rows share the errors of
// a score. A right Triton kernel was rejected on an H200, with one token, with 33 in 64 experts, and in the
// router's gradient of three.
func TestFewTokensAreNoStatistic(t *testing.T) {
	o, err := truth.Get("moe")
	if err != nil {
		t.Fatal(err)
	}
	s := suites[slices.IndexFunc(suites, func(s truthtest.Suite) bool { return s.Pass == op.Backward })]
	for _, c := range []struct {
		dtype                        string
		tokens, experts, hidden, top int64
		router, weights              bool
	}{
		{"fp16", 1, 7, 4, 2, false, false},
		{"fp16", 3, 40, 19, 1, false, false},
		{"bf16", 33, 64, 16, 8, true, false},
		{"fp16", 130, 3, 17, 1, true, true},
		{"fp32", 3, 40, 19, 1, true, true}, // nothing is stored low
		{"fp32", 33, 64, 16, 8, true, true},
	} {
		one, err := o.Spec.NewCase(op.Case{
			Pass: op.Backward, DType: c.dtype, Saved: "driver", Distribution: "normal",
		},
			map[string]int64{"tokens": c.tokens, "experts": c.experts, "dim": 32, "hidden": c.hidden},
			map[string]string{"top": string(rune('0' + c.top))})
		if err != nil {
			t.Fatal(err)
		}
		for i, target := range truthtest.PrepareCase(t, s, o.Spec, one, 1).Truth.Outputs {
			want := []bool{true, c.router, c.weights, c.weights, c.weights}[i]
			if target.Independent != want {
				t.Errorf("%+v: %s is asked: %t, want %t", c, target.Name, target.Independent, want)
			}
		}
	}
}
