package groupedgemm

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// sampled is a case that a sample leaves something of, with its truth whole and by sample.
func sampled(t *testing.T, c op.Case) (whole, part judge.Truth) {
	t.Helper()
	o, err := truth.Get("grouped_gemm")
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]int64{"tokens": 130, "groups": 5, "k": 70, "n": 90}
	if c, err = o.Spec.NewCase(c, sizes, nil); err != nil {
		t.Fatal(err)
	}
	in := truthtest.CaseInputs(t, o.Spec, c, 3)
	whole = truthtest.TruthFor(t, c, "fp32", in)
	if part, err = truth.Of(c, "fp32", in, &truth.Sample{Rows: 4, Seed: 5}); err != nil {
		t.Fatal(err)
	}
	return whole, part
}

// TestFreivaldsOfGroups: right answers pass, the sums cover what the sample leaves out of every group, their
// allowance is at least the sum of the elements' own and not many times as large, and an element that is
// wrong by more fails, with its place.
func TestFreivaldsOfGroups(t *testing.T) {
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		for _, distribution := range []string{"normal", "outlier"} {
			c := op.Case{Pass: pass, DType: "fp32", Distribution: distribution}
			whole, part := sampled(t, c)
			what := fmt.Sprint(pass, " ", distribution)
			values := truthtest.Sims(whole)
			truthtest.Accepts(t, what, truthtest.Judged(part, values...))
			for i, y := range part.Outputs {
				f, cols := y.Freivalds, y.Shape[len(y.Shape)-1]
				if f == nil || len(f.Rows) == 0 || len(y.R)+len(f.Rows)*len(f.Cols) != int(y.Elements()) {
					t.Fatalf("%s: %s: sample and sums do not make up the whole", what, y.Name)
				}
				for r, row := range f.Rows {
					own := 0.0
					for _, col := range f.Cols {
						own += whole.Outputs[i].T[row*cols+col]
					}
					most := 3*own + 1e3*truth.Subnormal // of an empty group own is 0
					if f.Allowance[r] < own || f.Allowance[r] > most {
						t.Fatalf("%s: row %d of %s: the allowance is %v, the sum of T %v", what, row,
							y.Name, f.Allowance[r], own)
					}
				}
				// a row in the middle: in a group that is neither the first nor the last one
				for _, r := range []int{0, len(f.Rows) / 2, len(f.Rows) - 1} {
					failsAt(t, what, part, values, i, r)
				}
			}
		}
	}
}

// failsAt makes one element wrong in a row that sums cover.
func failsAt(t *testing.T, what string, part judge.Truth, values [][]float64, output, r int) {
	t.Helper()
	y := part.Outputs[output]
	f, cols := y.Freivalds, y.Shape[len(y.Shape)-1]
	row, col := f.Rows[r], f.Cols[1]
	at := row*cols + col
	was := values[output][at]
	values[output][at] += 4*f.Allowance[r] + math.Abs(was) + 1
	defer func() { values[output][at] = was }()
	want := []int64{row, col}
	if len(y.Shape) == 3 {
		want = []int64{row / y.Shape[1], row % y.Shape[1], col}
	}
	v := truthtest.Judged(part, values...)[output]
	if v.Status != op.StatusFail || v.Gate != "G6" || !slices.Equal(v.Worst.Index, want) {
		t.Errorf("%s: %s %v is wrong: %v %s %v", what, y.Name, want, v.Status, v.Gate, v.Worst.Index)
	}
}

// TestNonFiniteRowsOfGroups: what no sum of signs can cover is compared element by element.
func TestNonFiniteRowsOfGroups(t *testing.T) {
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		whole, part := sampled(t, op.Case{Pass: pass, DType: "fp16", Distribution: "non_finite"})
		truthtest.Accepts(t, "sim", truthtest.Judged(part, truthtest.Sims(whole)...))
		for i, y := range part.Outputs {
			cols := y.Shape[len(y.Shape)-1]
			for _, row := range y.Freivalds.Rows {
				for _, col := range y.Freivalds.Cols {
					if r := whole.Outputs[i].R[row*cols+col]; !truth.IsFinite(r) {
						t.Fatalf("%s: row %d, column %d is %v and covered by sums", y.Name, row, col, r)
					}
				}
			}
		}
	}
}

// TestOffsetsThatCutNothing: offsets that do not rise from 0 to the last row have no truth.
func TestOffsetsThatCutNothing(t *testing.T) {
	o, err := truth.Get("grouped_gemm")
	if err != nil {
		t.Fatal(err)
	}
	c := op.Case{Pass: op.Forward, DType: "fp32", Distribution: "normal"}
	sizes := map[string]int64{"tokens": 6, "groups": 2, "k": 3, "n": 2}
	if c, err = o.Spec.NewCase(c, sizes, nil); err != nil {
		t.Fatal(err)
	}
	in := truthtest.CaseInputs(t, o.Spec, c, 1)
	for _, offsets := range [][]float64{{1, 3, 6}, {0, 3, 5}, {0, 7, 6}} {
		given := slices.Clone(in)
		at := slices.IndexFunc(given, func(x tensor.Tensor) bool { return x.Name == "offsets" })
		given[at] = truthtest.Literal("offsets", op.I64, offsets, 3)
		_, err := truth.Of(c, "fp32", given, nil)
		if err == nil || !strings.Contains(err.Error(), "from 0 to 6") {
			t.Errorf("offsets %v: %v", offsets, err)
		}
	}
}
