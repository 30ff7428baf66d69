package quantizeint8

import (
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// TestCodesWithoutTheZeroPoint: where the zero point is not given, and two are right, codes at the ends of
// int8 are right under either.
func TestCodesWithoutTheZeroPoint(t *testing.T) {
	o, err := truth.Get("quantize_int8")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32"},
		map[string]int64{"rows": 1, "cols": 4}, map[string]string{"mode": "asymmetric"})
	if err != nil {
		t.Fatal(err)
	}
	// the scale is nearly 1 and the zero point nearly halfway between 27 and 28
	x := truthtest.Literal("x", op.FP32, []float64{-155.5, 99.5 - 0x1p-17, 0, 1}, 1, 4)
	want := truthtest.TruthFor(t, c, "fp32", []tensor.Tensor{x})
	if zero := want.Outputs[2]; zero.T[0] == 0 {
		t.Fatalf("the zero point is %v -+ %v: want one of two", zero.R[0], zero.T[0])
	}
	want.Outputs[0].Depends = nil // nothing but the codes is given
	for _, q := range []float64{127, 126} {
		v := truthtest.Judged(want, []float64{-128, q, 28, 29}, nil, nil)[0]
		if v.Status != op.StatusPass {
			t.Errorf("the largest number is %v: %v (%s)", q, v.Status, v.Sentence)
		}
	}
}

// TestZeroPointOfNothing: the zero point of a tensor without an element may be any.
func TestZeroPointOfNothing(t *testing.T) {
	o, err := truth.Get("quantize_int8")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32"},
		map[string]int64{"rows": 0, "cols": 4}, map[string]string{"mode": "asymmetric"})
	if err != nil {
		t.Fatal(err)
	}
	want := truthtest.TruthFor(t, c, "fp32", []tensor.Tensor{truthtest.Literal("x", op.FP32, nil, 0, 4)})
	truthtest.AcceptsAt(t, "zero", want.Outputs[2], 0,
		map[float64]bool{-128: true, 0: true, 127: true, 128: false})
}

// TestCodesUnderTheGivenScale: codes are judged under the scale that the kernel gave where that is right, and
// under the truth's where it is not: right codes with a wrong scale pass, and codes that belong to the wrong
// scale do not.
func TestCodesUnderTheGivenScale(t *testing.T) {
	o, err := truth.Get("quantize_int8")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(
		op.Case{Pass: op.Forward, DType: "fp32"},
		map[string]int64{"rows": 1, "cols": 4},
		nil,
	)
	if err != nil {
		t.Fatal(err)
	}
	const next = 1 + 0x1p-23 // one ulp more than the scale 1
	x := truthtest.Literal("x", op.FP32, []float64{127, 0.5, -1.5, 2.501}, 1, 4)
	want := truthtest.TruthFor(t, c, "fp32", []tensor.Tensor{x})
	for _, e := range []struct {
		what         string
		q            []float64
		scale        float64
		qOK, scaleOK bool
	}{
		{"halves are even where the scale is a power of two", []float64{127, 0, -2, 3}, 1, true, true},
		{"a half away from zero", []float64{127, 1, -2, 3}, 1, false, true},
		{"halves of another scale may be rounded either way", []float64{127, 1, -1, 3}, next, true, true},
		{"another code under another scale", []float64{126, 1, -1, 3}, next, false, true},
		{"codes of a wrong scale", []float64{64, 0, -1, 1}, 2, false, false},
		{"right codes beside a wrong scale", []float64{127, 0, -2, 3}, 2, true, false},
	} {
		verdicts := truthtest.Judged(want, e.q, []float64{e.scale}, nil)
		for i, ok := range []bool{e.qOK, e.scaleOK} {
			if got := verdicts[i].Status == op.StatusPass; got != ok {
				t.Errorf(
					"%s: %s: %v %s",
					e.what,
					verdicts[i].Output,
					verdicts[i].Status,
					verdicts[i].Sentence,
				)
			}
		}
	}
}
