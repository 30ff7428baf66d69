package learn

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/exercise"
	"triad/internal/op"
	"triad/internal/report"
	"triad/internal/session"
	"triad/results"
)

// made are two exercises of a test.
func made() ([]exercise.Exercise, error) {
	return []exercise.Exercise{
		{
			Name: "add/one", Op: "add", Day: 1, Idea: "first", Pass: op.Forward, File: "add_one.cu",
			Watch: "Look.", Starter: "start\n", Solution: "solve\n", Task: "attention by day 15",
		},
		{
			Name: "add/two", Op: "add", Day: 2, Idea: "second", Pass: op.Backward, File: "add_two.py",
			Starter: "s",
		},
	}, nil
}

// learn runs the verb without a database.
func learn(args ...string) (string, session.ExitCode, error) {
	var out bytes.Buffer
	cmd := New(Environment{
		Out: &out, All: made, Style: func() report.Style { return report.Style{} },
		Open: func(context.Context, string) (*results.Store, error) {
			return nil, session.Fail(session.ExitNothing, fs.ErrNotExist)
		},
	})
	cmd.SetArgs(args)
	cmd.SilenceUsage, cmd.SilenceErrors = true, true
	err := cmd.Execute()
	return out.String(), session.CodeOf(err), err
}

// The list has every exercise and ends with the next one.
func TestList(t *testing.T) {
	text, _, err := learn()
	if err != nil || !strings.Contains(text, "add/one") || !strings.Contains(text, "attention by day 15") ||
		!strings.HasSuffix(text, "\n0 of 2 done. Next: add/one, first.\n  triad learn add/one\n") {
		t.Errorf("%v\n%s", err, text)
	}
	text, _, err = learn("add", "--json")
	if err != nil || strings.Count(text, "\n") != 2 || !strings.Contains(text, `"file":"add_two.py"`) {
		t.Errorf("%v\n%s", err, text)
	}
}

// A shell completes the names of exercises.
func TestCompletion(t *testing.T) {
	cmd := New(Environment{All: made})
	if names, _ := cmd.ValidArgsFunction(cmd, nil, ""); strings.Join(names, " ") != "add/one add/two" {
		t.Errorf("%q", names)
	}
	if names, _ := cmd.ValidArgsFunction(cmd, []string{"add/one"}, ""); len(names) > 0 {
		t.Errorf("after one: %q", names)
	}
}

// A starter is written once, with what to watch for and how to judge it; no solution is printed unasked.
func TestStarter(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "add_one.cu")
	text, _, err := learn("add/one", "--into", folder)
	got, readErr := os.ReadFile(path)
	if err != nil || readErr != nil || string(got) != "start\n" {
		t.Fatalf("%v, %v, %q", err, readErr, got)
	}
	for _, want := range []string{"Look.", "triad compare add --impl mine --add " + path} {
		if !strings.Contains(text, want) || strings.Contains(text, "solve") {
			t.Errorf("want %q and no solution in\n%s", want, text)
		}
	}
	if err := os.WriteFile(path, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, code, err := learn("add/one", "--into", folder)
	got, _ = os.ReadFile(path)
	if code != session.ExitUsage || string(got) != "mine" ||
		!strings.Contains(err.Error(), "exists already") {
		t.Errorf("over a file: exit %d, %v, the file holds %q", code, err, got)
	}
	if _, code, err := learn("add/one", "--into", filepath.Join(folder, "none")); code != session.ExitUsage {
		t.Errorf("into no folder: exit %d, %v", code, err)
	}
	if text, _, err := learn("add/two", "--into", folder); err != nil ||
		!strings.Contains(text, "triad compare add --pass backward --impl mine") {
		t.Errorf("%v: want the pass in\n%s", err, text)
	}
}

// The solution is printed on request, and nothing is written.
func TestSolution(t *testing.T) {
	folder := t.TempDir()
	text, _, err := learn("add/one", "--solution", "--into", folder)
	left, _ := os.ReadDir(folder)
	if err != nil || text != "solve\n" || len(left) > 0 {
		t.Errorf("%v, %q, %d files", err, text, len(left))
	}
	if _, _, err := learn("Ad/one"); err == nil || !strings.Contains(err.Error(), "do you mean add/one?") {
		t.Errorf("of a typo: %v", err)
	}
	if _, _, err := learn("ad"); err == nil || !strings.Contains(err.Error(), "do you mean add?") {
		t.Errorf("of a typo in an operator: %v", err)
	}
	for _, args := range [][]string{{"none"}, {"add", "--solution"}, {"--solution"}, {"add/one", "add/two"}} {
		if _, code, err := learn(args...); code != session.ExitUsage {
			t.Errorf("%v: exit %d, %v", args, code, err)
		}
	}
}
