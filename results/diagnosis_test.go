package results

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/internal/op"
	"triad/internal/record"
)

// A diagnosis is read with its run, also from a database that the run was merged into.
func TestADiagnosisComesBack(t *testing.T) {
	folder := t.TempDir()
	from := filepath.Join(folder, "from.db")
	s := openTest(t, from, Options{})
	x := start(t, s, "one")
	r := failed(8)
	if err := x.Record(ctx, &r); err != nil {
		t.Fatal(err)
	}
	want := record.Diagnosis{
		Dims: record.Members[int64]{{Name: "rows", Value: 1}}, Distribution: "normal", Status: op.StatusFail,
		Message: "y[0] is NaN", Advice: "write it first", Repeat: "triad compare",
		Findings: []record.Finding{{
			Kind: "uninitialised", Message: "nobody wrote it", Text: "1. nobody wrote it\n   mine.cu:8",
			Where: &record.Where{File: "mine.cu", Line: 8, Thread: &[3]int{1, 0, 0}},
		}},
		Notes: []string{"threads end early"},
	}
	if err := x.AddDiagnosis(ctx, r.ID, want); err != nil {
		t.Fatal(err)
	}
	if err := x.AddDiagnosis(ctx, "01ARZ3NDEKTSV4RRFFQ69G5FAV", want); !errors.Is(err, ErrNotFound) {
		t.Errorf("of a run that is not there: %v", err)
	}
	if err := x.Finish(ctx, true, 1); err != nil {
		t.Fatal(err)
	}
	into := openTest(t, filepath.Join(folder, "into.db"), Options{})
	if _, err := into.Merge(ctx, from); err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]*Store{"recorded": s, "merged": into} {
		got, err := store.Show(ctx, r.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&want, got.Record.Diagnosis); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}
