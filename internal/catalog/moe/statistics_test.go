package moe

import (
	"slices"
	"strconv"
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

// TestErrorsThatRowsShare: where one passage outweighs the others of its expert, or few values are stored,
// few rounding errors decide all rows of a gradient, and the limit of G4 allows for their number. A right
// Triton kernel was rejected in the first case: 17 rows shared the error of one value.
func TestErrorsThatRowsShare(t *testing.T) {
	o, err := truth.Get("moe")
	if err != nil {
		t.Fatal(err)
	}
	s := suites[slices.IndexFunc(suites, func(s truthtest.Suite) bool { return s.Pass == op.Backward })]
	for _, c := range []struct {
		dtype                             string
		tokens, experts, dim, hidden, top int64
		least, most                       float64
	}{
		{"bf16", 64, 90, 17, 2, 64, 1, 4},
		{"bf16", 130, 3, 32, 64, 1, 40, 64 * 130},
		{"fp32", 64, 90, 17, 2, 64, 0, 0}, // nothing is stored low
	} {
		one, err := o.Spec.NewCase(op.Case{
			Pass: op.Backward, DType: c.dtype, Saved: "driver", Distribution: "normal",
		},
			map[string]int64{"tokens": c.tokens, "experts": c.experts, "dim": c.dim, "hidden": c.hidden},
			map[string]string{"top": strconv.FormatInt(c.top, 10), "normalise": "true"})
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range truthtest.PrepareCase(t, s, o.Spec, one, 1).Truth.Outputs[2:] {
			if target.Errors < c.least || target.Errors > c.most {
				t.Errorf("%+v: %.1f errors decide %s, want %g to %g", c, target.Errors, target.Name, c.least,
					c.most)
			}
		}
	}
}
