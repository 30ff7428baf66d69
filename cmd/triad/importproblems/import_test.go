package importproblems

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/problem"
)

// TestImportPrintsALineForEachThing: what a stranger wrote, in a description or as the name of a file, forges
// no line and turns no text around.
func TestImportPrintsALineForEachThing(t *testing.T) {
	var out, errOut bytes.Buffer
	a := &verb{&machine.Workers{Console: &console.Console{
		Out: &out, Err: &errOut, Stop: context.Background(),
	}}}
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

// TestRunIsReplaced: the flags reach a replaced run function with the problems that were found.
func TestRunIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "relu.py")
	text := "class Model:\n    pass\n\n\ndef get_inputs():\n    pass\n"
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var found []problem.Problem
	var into string
	cmd := New(nil, func(_ context.Context, all []problem.Problem, o *Options) error {
		found, into = all, o.into
		return nil
	})
	cmd.SetArgs([]string{"kernelbench", path, "--into", "operators"})
	if err := cmd.Execute(); err != nil || len(found) != 1 || into != "operators" {
		t.Errorf("%d problems into %q, %v", len(found), into, err)
	}
}
