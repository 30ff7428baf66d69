package scan_test

import (
	"math"
	"slices"
	"testing"

	_ "triad/internal/truth/all"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/scan"
	"triad/internal/truth/truthtest"
)

// caseOf returns a case of the one operator that scans its input as it is.
func caseOf(t *testing.T, d op.DType, n int64, distribution, exclusive string) (op.Case, []tensor.Tensor) {
	t.Helper()
	for _, o := range truth.All() {
		if s, ok := scan.Get(o.Spec.Name); !ok || len(s.Term.Forms[0].Operands) > 0 {
			continue
		}
		c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: d.String(), Distribution: distribution},
			map[string]int64{"n": n}, map[string]string{"exclusive": exclusive})
		if err != nil {
			t.Fatal(err)
		}
		return c, truthtest.CaseInputs(t, o.Spec, c, 1)
	}
	t.Fatal("the family has no such operator")
	return op.Case{}, nil
}

// TestRunningSums: R is the sum of every prefix and T that of a sum of as many terms; the first output is
// exact, and so is every sum of small integers.
func TestRunningSums(t *testing.T) {
	for _, exclusive := range []string{"false", "true"} {
		for _, distribution := range []string{"normal", "constant", "outlier", "integers"} {
			c, in := caseOf(t, op.FP32, 9001, distribution, exclusive)
			y := truthtest.TruthFor(t, c, "fp32", in).Outputs[0]
			x := in[0].Float64s()
			sum, abs, square, n := 0.0, 0.0, 0.0, 0.0
			for i, v := range x {
				before := [4]float64{sum, abs, square, n}
				sum, abs, square, n = sum+v, abs+math.Abs(v), square+v*v, n+1
				after := [4]float64{sum, abs, square, n}
				if exclusive == "true" {
					sum, abs, square, n = before[0], before[1], before[2], before[3]
				}
				truthtest.Near(t, c.Key(), y.R[i], sum, abs)
				partial, growth := abs, math.Min(n, 8*math.Sqrt(n))+4
				if distribution == "normal" {
					partial = math.Min(abs, math.Abs(sum)+8*math.Sqrt(square))
				}
				if distribution == "constant" {
					growth = n + 4
				}
				want := judge.U32 * growth * partial
				if n <= 1 || distribution == "integers" {
					want = 0
				}
				if math.Abs(y.T[i]-want) > 1e-9*want {
					t.Fatalf("%s, exclusive %s: T[%d] = %v, want %v", distribution, exclusive, i, y.T[i],
						want)
				}
				sum, abs, square, n = after[0], after[1], after[2], after[3]
			}
			if y.Exact != (distribution == "integers") {
				t.Errorf("%s: exact %v", distribution, y.Exact)
			}
		}
	}
}

// TestIntegersWrap compares sums of integers with Go's own int32: whole, sampled and row by row.
func TestIntegersWrap(t *testing.T) {
	for _, exclusive := range []string{"false", "true"} {
		const n = 40*truth.FlatRow + 11
		c, in := caseOf(t, op.I32, n, "normal", exclusive)
		var want []float64
		sum, wraps := int32(0), 0
		for _, v := range in[0].Float64s() {
			before := sum
			sum += int32(v)
			if math.Abs(float64(before)+v) > math.MaxInt32 {
				wraps++
			}
			if exclusive == "true" {
				want = append(want, float64(before))
			} else {
				want = append(want, float64(sum))
			}
		}
		whole := truthtest.TruthFor(t, c, scan.Exact, in).Outputs[0]
		if !slices.Equal(whole.R, want) || !whole.Bits || slices.Max(whole.T) != 0 || wraps < n/10 {
			t.Errorf("exclusive %s: other sums, error bound %v, bits %v, %d of %d wrap", exclusive,
				slices.Max(whole.T), whole.Bits, wraps, n)
		}
		sampled, err := truth.Of(c, scan.Exact, in, &truth.Sample{Rows: 5, Seed: 9})
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range sampled.Outputs[0].Index {
			if sampled.Outputs[0].R[i] != want[at] {
				t.Fatalf("sampled element %d is %v, want %v", at, sampled.Outputs[0].R[i], want[at])
			}
		}
		o, err := truth.Get(c.Op)
		if err != nil {
			t.Fatal(err)
		}
		byRows, err := o.TruthByRows(c, scan.Exact, in)
		if err != nil {
			t.Fatal(err)
		}
		if kept, err := byRows.Outputs[0].Kept(); err != nil || !slices.Equal(kept.R, want) {
			t.Errorf("computed row by row it is another truth: %v", err)
		}
	}
}

// TestScanOfRowsHasTheBitsOfTheWhole: a sample of rows, and a truth that is computed row by row, begin each
// row with the sum before it.
func TestScanOfRowsHasTheBitsOfTheWhole(t *testing.T) {
	const n = 100*truth.FlatRow + 11
	c, in := caseOf(t, op.BF16, n, "normal", "true")
	whole := truthtest.TruthFor(t, c, "fp32", in).Outputs[0]
	sampled, err := truth.Of(c, "fp32", in, &truth.Sample{Rows: 5, Seed: 9})
	if err != nil {
		t.Fatal(err)
	}
	part := sampled.Outputs[0]
	if len(part.Index) == 0 || len(part.Index) == n {
		t.Fatalf("%d elements are sampled", len(part.Index))
	}
	for i, at := range part.Index {
		if part.R[i] != whole.R[at] || part.T[i] != whole.T[at] || part.Sim[i] != whole.Sim[at] {
			t.Fatalf("element %d: R %v, T %v, want %v, %v", at, part.R[i], part.T[i], whole.R[at],
				whole.T[at])
		}
	}
	o, err := truth.Get(c.Op)
	if err != nil {
		t.Fatal(err)
	}
	byRows, err := o.TruthByRows(c, "fp32", in)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := byRows.Outputs[0].Kept()
	if err != nil || !slices.Equal(kept.R, whole.R) || !slices.Equal(kept.T, whole.T) {
		t.Errorf("computed row by row it is another truth: %v", err)
	}
}
