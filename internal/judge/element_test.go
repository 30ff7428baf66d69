package judge

import (
	"math"
	"slices"
	"testing"

	"triad/internal/op"
)

// halfway lies in the middle of two bf16 numbers: it rounds to 1.
const halfway = 1 + 0x1p-8

// elements are values, truths and error bounds, and whether the value is accepted.
var elements = []struct {
	what     string
	d        op.DType
	y, r, t  float64
	saturate bool
	ftz      bool
	ok       bool
}{
	{what: "exact", d: op.FP32, y: 1, r: 1, ok: true},
	{what: "one ulp off without error bound", d: op.FP32, y: 1 + 0x1p-23, r: 1},
	{what: "nan for a number", d: op.FP32, y: nan, r: 1, t: 1e30},
	{what: "number for nan", d: op.FP32, y: 1, r: nan},
	{what: "nan for nan", d: op.FP32, y: nan, r: nan, ok: true},
	{what: "inf for inf", d: op.FP16, y: inf, r: inf, ok: true},
	{what: "-inf for inf", d: op.FP16, y: -inf, r: inf},
	{what: "largest for inf", d: op.FP16, y: 65504, r: inf},
	{what: "largest for inf, saturating", d: op.FP16, y: 65504, r: inf, saturate: true, ok: true},
	{what: "inf for inf, saturating", d: op.FP16, y: inf, r: inf, saturate: true},
	{what: "nan for inf", d: op.FP16, y: nan, r: inf},
	{what: "-0 for 0", d: op.FP32, y: math.Copysign(0, -1), r: 0, ok: true},
	{what: "halfway to even", d: op.BF16, y: 1, r: halfway, ok: true},
	{what: "halfway the wrong way", d: op.BF16, y: 1 + 0x1p-7, r: halfway},
	{what: "halfway, a little error bound", d: op.BF16, y: 1 + 0x1p-7, r: halfway, t: 1e-9, ok: true},
	{what: "just above halfway", d: op.BF16, y: 1, r: halfway + 1e-9},
	{
		what: "just above halfway, within the error bound", d: op.BF16, y: 1, r: halfway + 1e-9, t: 2e-9,
		ok: true,
	},
	{what: "no double rounding", d: op.BF16, y: 1, r: halfway + 0x1p-40},
	{what: "below the overflow threshold", d: op.FP16, y: 65504, r: 65519.9, ok: true},
	{what: "at the overflow threshold", d: op.FP16, y: inf, r: 65520, ok: true},
	{what: "largest at the overflow threshold", d: op.FP16, y: 65504, r: 65520},
	{what: "largest within T of the threshold", d: op.FP16, y: 65504, r: 65520, t: 1, ok: true},
	{what: "inf within T of the threshold", d: op.FP16, y: inf, r: 65519.5, t: 1, ok: true},
	{what: "inf far below", d: op.FP16, y: inf, r: 65000, t: 1},
	{what: "inf for a finite truth, saturating", d: op.FP16, y: inf, r: 70000, saturate: true},
	{
		what: "largest for a finite truth, saturating", d: op.FP16, y: 65504, r: 70000, saturate: true,
		ok: true,
	},
	{what: "e4m3 rounds 464 down", d: op.E4M3, y: 448, r: 464, ok: true},
	{what: "e4m3 overflow code", d: op.E4M3, y: nan, r: 465, ok: true},
	{what: "e4m3 overflow code for inf", d: op.E4M3, y: nan, r: inf, ok: true},
	{what: "e4m3 nan for a small number", d: op.E4M3, y: nan, r: 3, t: 0.1},
	{what: "e4m3 nan, saturating", d: op.E4M3, y: nan, r: 465, saturate: true},
	{what: "e4m3 saturated", d: op.E4M3, y: 448, r: 500, saturate: true, ok: true},
	{what: "smallest subnormal kept", d: op.FP16, y: 0x1p-24, r: 0x1p-24, ok: true},
	{what: "fp16 subnormal flushed", d: op.FP16, y: 0, r: 0x1p-24, ftz: true},
	{what: "bf16 subnormal flushed", d: op.BF16, y: 0, r: 0x1p-130, ftz: true, ok: true},
	{what: "bf16 subnormal flushed, not permitted", d: op.BF16, y: 0, r: 0x1p-130},
	{
		what: "R - T below the normal range", d: op.FP32, y: 0, r: 0x1p-126 + 0x1p-140, t: 0x1p-139,
		ftz: true, ok: true,
	},
	{what: "normal number flushed", d: op.FP32, y: 0, r: 0x1p-125, t: 0x1p-140, ftz: true},
	{what: "integer exact", d: op.I32, y: 7, r: 7, ok: true},
	{what: "integer off by one", d: op.I32, y: 8, r: 7},
	{what: "nan in T rejects", d: op.FP32, y: 5, r: 1, t: nan},
}

// TestElement checks G1 and G2 on a table: a value, the truth, the error bound, and whether it is accepted.
func TestElement(t *testing.T) {
	for _, c := range elements {
		g := gridOf(Target{DType: c.d, Saturate: c.saturate, FTZ: c.ftz})
		if got := g.accepts(c.y, c.r, c.t); got != c.ok {
			t.Errorf("%s: accepted %v, want %v", c.what, got, c.ok)
		}
	}
}

// TestTheTightestElementIsNamed: in an output that passes, the element of least error margin is named first,
// though another one is fewer ulps away from being rejected; in one that fails, the worst rejected element.
func TestTheTightestElementIsNamed(t *testing.T) {
	truth := target(op.FP32, []float64{100, 100, 100}, 0)
	truth.T = []float64{0x1p-16, 1, 0x1p-10}
	v := verdict(truth, answer(truth, 100, 100.9375, 100))
	if v.Status != op.StatusPass || v.Worst.Index[0] != 1 || len(v.Worst16) != 3 ||
		v.ErrorMargin != (1+0x1p-18)/0.9375 {
		t.Errorf("%v, error margin %g, elements %+v: want element 1 first, once", v.Status, v.ErrorMargin,
			v.Worst16)
	}
	many := target(op.FP32, slices.Repeat([]float64{100}, 300), 0x1p-16)
	many.T = slices.Repeat([]float64{0x1p-16}, 300)
	many.T[299] = 1
	y := slices.Repeat([]float64{100}, 300)
	y[299] = 100.9375
	if v := verdict(many, answer(many, y...)); v.Worst.Index[0] != 299 || len(v.Worst16) != worstKept {
		t.Errorf("%d elements, first %+v: want %d, element 299 first", len(v.Worst16), v.Worst, worstKept)
	}
	if v := verdict(truth, answer(truth, 100.01, 100.9375, 100)); v.Status != op.StatusFail ||
		v.Worst.Index[0] != 0 {
		t.Errorf("%v, element %+v: want the rejected element 0", v.Status, v.Worst)
	}
}
