package truth_test

import (
	"math"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
)

// logits has a declared output that may be -inf, and logits that are products; plain has neither.
const logits, plain = "flash_attention", "softmax"

// truthBy computes the truth of a case with compute in place of the operator's own.
func truthBy(c op.Case, compute truth.Function) error {
	kept := truth.Register(c.Op, truth.Definition{Forward: compute, Permits: []string{"fp32"}})
	defer truth.Register(c.Op, kept)
	c.Pass = op.Forward
	_, err := truth.Of(c, "fp32", nil, nil)
	return err
}

// TestIndependence: where one key may have nearly all the weight of a row, a few rounding errors decide and
// G4 does not apply.
func TestIndependence(t *testing.T) {
	for name, want := range map[string][2]bool{
		"normal": {true, true}, "row_offsets": {false, true},
		"scaled": {false, true}, "ties": {false, false},
	} {
		for i, operator := range []string{logits, plain} {
			var got bool
			err := truthBy(op.Case{Op: operator, Distribution: name},
				func(k *truth.Request) ([]judge.Target, error) {
					y := k.Target("y", op.FP32, []int64{1}, nil)
					got = y.Independent
					return []judge.Target{y}, nil
				})
			if err != nil || got != want[i] {
				t.Errorf("%s under %s: independent %v, want %v (%v)", operator, name, got, want[i], err)
			}
		}
	}
}

// TestMayBeNegInf: an output that is -inf though no input is must be declared so in the spec, under any name;
// its other infinities are rejected.
func TestMayBeNegInf(t *testing.T) {
	for _, c := range []struct {
		operator, output string
		r                float64
		want             bool
	}{
		{logits, "lse", math.Inf(-1), true},
		{logits, "lse", math.Inf(1), false},
		{logits, "lse", math.NaN(), false},
		{plain, "y", math.Inf(-1), false},
	} {
		err := truthBy(op.Case{Op: c.operator, Distribution: "normal"},
			func(k *truth.Request) ([]judge.Target, error) {
				y := k.Target(c.output, op.FP32, []int64{1}, nil)
				y.R[0], y.Sim[0] = c.r, c.r
				return []judge.Target{y}, nil
			})
		if (err == nil) != c.want {
			t.Errorf("a truth of %v for %s of %s: %v", c.r, c.output, c.operator, err)
		}
	}
}
