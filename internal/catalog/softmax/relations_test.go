package softmax

import (
	"math"
	"slices"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// TestNegativeIsRejected: a softmax that underflows to the smallest negative number is within its interval,
// but is no softmax.
func TestNegativeIsRejected(t *testing.T) {
	x := truthtest.Literal("x", op.FP32, []float64{0, -200, 3, -150, 0, 0}, 2, 3)
	c := op.Case{Op: "softmax", Pass: op.Forward, DType: "fp32", Dims: op.Dims{
		{Name: "rows", Value: 2},
		{Name: "cols", Value: 3},
	}, Layout: "contiguous", Distribution: "low_logits"}
	known := truthtest.TruthFor(t, c, "fp32", truth.Inputs{x})
	y := truthtest.Sims(known)
	calls := []truth.Call{{Case: c, Given: truth.Inputs{x}, Gave: truthtest.Simulated(t, "fp32", c,
		truth.Inputs{x})}}
	negative := func(_ int, v float64) float64 {
		if v < 0x1p-126 {
			return -math.SmallestNonzeroFloat32
		}
		return v
	}
	for i, v := range y[0] {
		y[0][i] = negative(i, v)
	}
	truthtest.Accepts(t, "the gates before", truthtest.Judged(known, y...))
	for _, r := range truth.RelationsOf(c) {
		if held := truthtest.Holds(r, "fp32", truthtest.Spoilt(calls, "y",
			negative))["y"]; held.Accepted() != (r.Name != "no element is negative") {
			t.Errorf("%q: accepted %v: %s", r.Name, held.Accepted(), held.Sentence())
		}
	}
}

// TestRelationsWithoutWhatTheyNeed: a relation that lacks something reports it as the reason why it was not
// evaluated, without a panic: calls, outputs, a known contract, a whole truth.
func TestRelationsWithoutWhatTheyNeed(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32"}, map[string]int64{
		"rows": 300,
		"cols": 4,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	given := truth.Inputs(truthtest.CaseInputs(t, o.Spec, c, 1))
	for _, r := range truth.RelationsOf(c) {
		right := truthtest.Follow(t, "fp32", r, c, given)
		for i := range right {
			lost := slices.Clone(right)
			lost[i].Gave = nil
			if held := r.Hold("fp32", lost, nil); i == len(right)-1 && r.Second != nil &&
				(len(held) != 1 || held[0].Missing == "") {
				t.Errorf("%q without the output of call %d: %+v", r.Name, i, held)
			}
			sample := slices.Clone(right)
			sample[i].Truth = func(contract string) (judge.Truth, error) {
				return truth.Of(c, contract, given, &truth.Sample{Rows: 3})
			}
			if held := r.Hold("fp32", sample, nil); i == len(right)-1 && held[0].Missing == "" {
				t.Errorf("%q on a sample: %+v", r.Name, held)
			}
		}
		if held := r.Hold("fp32", append(slices.Clone(right), right[0]), nil); held[0].Missing == "" {
			t.Errorf("%q with a call too many: %+v", r.Name, held)
		}
		if held := r.Hold("exact", right, nil); held[0].Missing == "" {
			t.Errorf("%q under an unknown contract: %+v", r.Name, held)
		}
	}
}

// TestNondeterministicOutputsAgreeWithinTheErrorBound: a kernel whose bits may vary need agree with itself
// within the error bound only.
func TestNondeterministicOutputsAgreeWithinTheErrorBound(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	truthtest.RelatedCases(t, o, func(r truth.Relation, c op.Case, calls []truth.Call) {
		if r.Name != "a doubled upstream gradient doubles the gradient" || c.DType != "fp32" ||
			c.Dims.Get("cols") == 1 {
			return
		}
		off := truthtest.Spoilt(calls, "grad_x",
			func(_ int, v float64) float64 {
				return float64(math.Nextafter32(float32(v),
					float32(math.Inf(1))))
			})
		strict, loose := r.Hold("fp32", off, nil)[0], r.Hold("fp32", off, []string{"grad_x"})[0]
		if strict.Accepted() || !loose.Accepted() {
			t.Errorf("%s: accepted %v, declared to vary %v: %s", truthtest.Describe(c), strict.Accepted(),
				loose.Accepted(), loose.Sentence())
		}
	})
}
