package results

import (
	"path/filepath"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// Standings count the newest runs alone, and a wrong run has the diagnosis that its session keeps of another
// run of the same implementation and pass.
func TestStandingsAndDiagnoses(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	var runs []record.Record
	for _, status := range []op.Status{op.StatusFail, op.StatusPass, op.StatusFail} {
		x := start(t, s, "one")
		for _, cols := range []int{8, 9} {
			r := failed(cols)
			if r.Status = status; status == op.StatusPass {
				r.Outputs = nil
			}
			if err := x.Record(ctx, &r); err != nil {
				t.Fatal(err)
			}
			r.Session = x.ID()
			runs = append(runs, r)
		}
		if err := x.Finish(ctx, true, 0); err != nil {
			t.Fatal(err)
		}
		all, err := s.Standings(ctx)
		if err != nil || len(all) != 1 || all[0].Status != status || all[0].Runs != 2 ||
			all[0].Newest.IsZero() {
			t.Fatalf("after %v: %+v, %v", status, all, err)
		}
	}
	last := runs[4]
	kept := record.Diagnosis{Status: op.StatusFail, Message: "why"}
	if err := (&Session{store: s}).AddDiagnosis(ctx, last.ID, kept); err != nil {
		t.Fatal(err)
	}
	for i, want := range map[int]bool{0: false, 3: false, 4: true, 5: true} {
		d, err := s.Diagnosis(ctx, runs[i])
		if err != nil || (d != nil) != want || d != nil && d.Message != "why" {
			t.Errorf("run %d: %+v, %v", i, d, err)
		}
	}
	other := runs[5]
	other.Case.Pass = op.Backward
	if d, err := s.Diagnosis(ctx, other); d != nil || err != nil {
		t.Errorf("of another pass: %+v, %v", d, err)
	}
}
