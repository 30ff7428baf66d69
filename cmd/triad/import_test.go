package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/participants"
	"triad/internal/problem"
	"triad/internal/runsetup"
)

// TestImportPrintsALineForEachThing: what a stranger wrote, in a description or as the name of a file, forges
// no line and turns no text around.
func TestImportPrintsALineForEachThing(t *testing.T) {
	var out, said bytes.Buffer
	a := &app{Setup: &runsetup.Setup{Source: participants.Source{Workers: &machine.Workers{
		Console: &console.Console{
			Out: &out, Err: &said,
			Stop: context.Background(),
		},
	}}}}
	forged := "b.py\ntriad: c.py: imported \u202e into ./x"
	done := &problem.Imported{
		Problem: problem.Problem{Path: forged, Format: "kernelbench", Operator: "kernelbench_b"},
		Folder:  filepath.Join("it's here", "kernelbench_b"), Notes: []string{"WEAK: \x1b[2J" + forged},
	}
	if err := a.printImported(done); err != nil {
		t.Fatal(err)
	}
	if err := a.listProblems([]problem.Problem{done.Problem}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), "\n"); n != 4 || strings.ContainsAny(out.String(), "\u202e\x1b") {
		t.Errorf("%d lines, want 4:\n%q", n, out.String())
	}
	if want := `triad compare './it'\''s here/kernelbench_b' --add`; !strings.Contains(out.String(), want) {
		t.Errorf("%s, want %s", out.String(), want)
	}
}
