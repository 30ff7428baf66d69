package judge

import (
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
)

// flat returns a target of one dim whose element i has the truth i+1, in rows of 64, the last of which is
// shorter.
func flat(n int64) Target {
	t := Target{Name: "y", DType: op.FP32, Shape: []int64{n}, Independent: true}
	t.Rows = &Rows{Length: 64, Fill: func() func(into Values, first, end int64) error {
		return func(into Values, first, end int64) error {
			for i := range into.R {
				into.R[i] = float64(64*first + int64(i) + 1)
				into.T[i], into.TFP32[i], into.Sim[i] = 1e-6, 1e-6, into.R[i]
			}
			return nil
		}
	}}
	return t
}

// TestFlatRows: the rows of an output of one dim are runs of elements. It is judged in the same runs as a
// kept truth, and a kept truth holds all of its elements, or those of some rows with the first and the last.
func TestFlatRows(t *testing.T) {
	for _, n := range []int64{1, 63, 64, 65, chunk, chunk + 1, 3*chunk + 77, 2 * fewElements} {
		target := flat(n)
		whole, err := target.Kept()
		if err != nil || int64(len(whole.R)) != n || whole.Index != nil || whole.R[n-1] != float64(n) {
			t.Fatalf("%d elements: %d are kept, %v", n, len(whole.R), err)
		}
		kept := piecesOf(whole)
		if p := piecesOf(target); p.count() != kept.count() {
			t.Errorf("%d elements are %d runs, kept %d", n, p.count(), kept.count())
		}
		seen := make([]bool, n)
		if err := target.eachPiece(piecesOf(target), func(i, first int, v Values) {
			if a, b := kept.at(i); a != first || b-a != len(v.R) {
				t.Errorf("run %d of %d elements: %d from %d on, kept %d from %d on", i, n, len(v.R), first,
					b-a, a)
			}
			for j, r := range v.R {
				seen[first+j] = r == float64(first+j+1)
			}
		}); err != nil || slices.Contains(seen, false) {
			t.Errorf("%d elements: %v, or an element has not its truth", n, err)
		}
		some, err := target.few()
		if err != nil || some.Check() != nil || some.Index[0] != 0 || some.Index[len(some.R)-1] != n-1 ||
			len(some.R) > fewElements {
			t.Errorf("%d elements: %d stand for all, %v", n, len(some.R), err)
		}
		for i, at := range some.Index {
			if some.R[i] != float64(at+1) {
				t.Fatalf("%d elements: element %d has the truth %v", n, at, some.R[i])
			}
		}
		if e := elementAt(target, n-1, make([]byte, 4*n)); e.R != float64(n) {
			t.Errorf("%d elements: the last has the truth %v", n, e.R)
		}
	}
	wrong := flat(100)
	wrong.Rows.Length = 100
	if err := wrong.Check(); err == nil || !strings.Contains(err.Error(), "rows of 100") {
		t.Errorf("rows that are no part of a run: %v", err)
	}
}
