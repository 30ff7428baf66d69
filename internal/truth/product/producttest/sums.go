package producttest

import (
	"math"
	"slices"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// Sampled is a case that is larger than its sample, with its truth whole and by sample.
type Sampled struct {
	Whole, Part judge.Truth
}

// SampledOf computes both truths of an operator's case under a contract.
func SampledOf(t *testing.T, name string, c op.Case, sizes map[string]int64, attributes map[string]string,
	contract string,
) Sampled {
	t.Helper()
	o, err := truth.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	if c, err = o.Spec.NewCase(c, sizes, attributes); err != nil {
		t.Fatal(err)
	}
	in := truthtest.CaseInputs(t, o.Spec, c, 3)
	s := Sampled{Whole: truthtest.TruthFor(t, c, contract, in)}
	if s.Part, err = truth.Of(c, contract, in, &truth.Sample{Rows: 4, Seed: 5}); err != nil {
		t.Fatal(err)
	}
	return s
}

// CoveredBySums: right answers pass, the sums cover the unsampled part of every matrix, and their error bound
// is at least the sum of the elements' own and not many times as large. An element that is wrong by more
// fails, with its place: in the first row, in the middle and in the last.
func (s Sampled) CoveredBySums(t *testing.T, what string) {
	t.Helper()
	values := truthtest.Sims(s.Whole)
	truthtest.Accepts(t, what, truthtest.Judged(s.Part, values...))
	for i, y := range s.Part.Outputs {
		f, cols := y.Freivalds, y.Shape[len(y.Shape)-1]
		if f == nil || len(f.Rows) == 0 || len(y.R)+len(f.Rows)*len(f.Cols) != int(y.Elements()) {
			t.Fatalf("%s: %s: sample and sums do not make up the whole", what, y.Name)
		}
		for r, row := range f.Rows {
			own := 0.0
			for _, col := range f.Cols {
				own += s.Whole.Outputs[i].T[row*cols+col]
			}
			most := 3*own + 1e3*truth.Subnormal // of an empty group own is 0
			if f.ErrorBound[r] < own || f.ErrorBound[r] > most {
				t.Fatalf("%s: row %d of %s: the error bound is %v, the sum of T %v", what, row, y.Name,
					f.ErrorBound[r], own)
			}
		}
		for _, r := range []int{0, len(f.Rows) / 2, len(f.Rows) - 1} {
			s.failsAt(t, what, values, i, r)
		}
	}
}

// failsAt makes one element wrong in a row that sums cover.
func (s Sampled) failsAt(t *testing.T, what string, values [][]float64, output, r int) {
	t.Helper()
	y := s.Part.Outputs[output]
	f, cols := y.Freivalds, y.Shape[len(y.Shape)-1]
	row, col := f.Rows[r], f.Cols[1]
	at := row*cols + col
	was := values[output][at]
	values[output][at] += 4*f.ErrorBound[r] + math.Abs(was) + 1
	defer func() { values[output][at] = was }()
	want := []int64{row, col}
	if len(y.Shape) == 3 {
		want = []int64{row / y.Shape[1], row % y.Shape[1], col}
	}
	v := truthtest.Judged(s.Part, values...)[output]
	if v.Status != op.StatusFail || v.Gate != "G6" || !slices.Equal(v.Worst.Index, want) {
		t.Errorf("%s: %s %v is wrong: %v %s %v", what, y.Name, want, v.Status, v.Gate, v.Worst.Index)
	}
}

// NonFiniteIsCompared: elements of an operand or of the addend that no sum of signs can cover are compared
// one by one. It returns how many elements the sums cover.
func (s Sampled) NonFiniteIsCompared(t *testing.T) int {
	t.Helper()
	truthtest.Accepts(t, "sim", truthtest.Judged(s.Part, truthtest.Sims(s.Whole)...))
	covered := 0
	for i, y := range s.Part.Outputs {
		f, cols := y.Freivalds, y.Shape[len(y.Shape)-1]
		if f == nil {
			if len(y.R) != int(y.Elements()) {
				t.Fatalf("%s: no sums, and %d of %d elements are compared", y.Name, len(y.R), y.Elements())
			}
			continue
		}
		covered += len(f.Rows) * len(f.Cols)
		for _, row := range f.Rows {
			for _, col := range f.Cols {
				if r := s.Whole.Outputs[i].R[row*cols+col]; !truth.IsFinite(r) {
					t.Fatalf("%s: row %d, column %d is %v and covered by sums", y.Name, row, col, r)
				}
			}
		}
	}
	return covered
}
