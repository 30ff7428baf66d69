package judge

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// Comparison in runs, on several cores, must give the result of one loop over all elements: these sizes end
// within a run, and what counts lies on both sides of its ends.
const several = 3*chunk + strip + 5

func TestDifferenceOfManyElements(t *testing.T) {
	x := make([]float64, several)
	for i := range x {
		x[i] = 1 + float64(i%7)
	}
	y := slices.Clone(x)
	ulp := 0x1p-10
	for _, at := range []int{0, strip - 1, strip, chunk - 1, chunk, 2 * chunk, several - 1} {
		y[at] += 2 * ulp * math.Exp2(math.Floor(math.Log2(x[at])))
	}
	y[chunk+3] += 5 * ulp * math.Exp2(math.Floor(math.Log2(x[chunk+3])))
	y[2*chunk+3] += 5 * ulp * math.Exp2(math.Floor(math.Log2(x[2*chunk+3])))
	a, b := tensor.Encode(op.FP16, x), tensor.Encode(op.FP16, y)
	if d := DifferenceOf(op.FP16, a, b); d.Bitwise || d.Different != 9 || d.ULP != 5 || d.At != chunk+3 {
		t.Errorf("got %+v, want nine that differ, the first of those that are 5 ulps apart at %d", d, chunk+3)
	}
	if d := DifferenceOf(op.FP16, a, a); d != (Difference{Bitwise: true, At: -1}) {
		t.Errorf("the same bits: %+v", d)
	}
	if d := DifferenceOf(op.FP16, a, b[:len(b)-2]); d.Bitwise || d.Different != several ||
		!math.IsInf(d.ULP, 1) {
		t.Errorf("another length: %+v", d)
	}
}

func TestCheckNamesTheFirstElement(t *testing.T) {
	for _, bad := range []float64{-1, math.Inf(1), math.NaN()} {
		for _, at := range []int{0, chunk, several - 1} {
			truth := target(op.BF16, make([]float64, several), 1)
			truth.T[at], truth.T[several-1] = bad, bad
			if err := truth.Check(); err == nil ||
				!strings.Contains(err.Error(), fmt.Sprintf("element [%d]:", at)) {
				t.Errorf("T = %v from element %d on: %v", bad, at, err)
			}
			truth.R[at], truth.R[several-1] = math.NaN(), math.Inf(1) // these are not checked
			if err := truth.Check(); err != nil {
				t.Errorf("T = %v where R is not finite: %v", bad, err)
			}
		}
	}
}

func TestMeanOfManyElements(t *testing.T) {
	x := make([]float64, several)
	sum := 0.0
	for i := range x {
		x[i] = float64(i%11) - 3
		sum += x[i]
	}
	x[5], x[chunk+5] = math.NaN(), math.Inf(-1)
	sum -= float64(5%11-3) + float64((chunk+5)%11-3)
	if got, want := meanOfFinite(x), sum/(several-2); math.Abs(got-want) > 1e-9 {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestPowerOfManyElements: a large case has the power of a small one, though the root mean square of a wrong
// output is added up in runs.
func TestPowerOfManyElements(t *testing.T) {
	x := make([]float64, several)
	for i := range x {
		x[i] = 1 + float64(i*7919%1000)/1000
	}
	tight := target(op.BF16, x, 0)
	tight.Independent = true
	if p := PowerOf(tight, tensor.Tensor{}, x); !p.None || p.Why != "the previous output" {
		t.Errorf("the truth itself as the output before: %+v", p)
	}
	loose := target(op.BF16, x, 0.05)
	loose.TFP32 = make([]float64, several) // all of the error bound is for values stored low
	if p := PowerOf(loose, tensor.Tensor{}, nil); !slices.Contains(p.Accepted, "off by 2^-10") ||
		slices.Contains(p.Accepted, "zeros") {
		t.Errorf("a loose error bound: %+v", p)
	}
	w := trial{"far off together", true, func(into []float64, first int) {
		for i := range into {
			into[i] = x[first+i] + 0.04
		}
	}}
	if w.passes(loose) {
		t.Error("every element is off by nearly all that is allowed, and G4 accepts it")
	}
}
