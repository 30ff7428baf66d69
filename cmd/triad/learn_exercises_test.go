package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/exercise"
	"triad/internal/need"
)

// TestLearnExercises: the solution of each exercise passes and makes it done; a typical wrong version and the
// starter as it is written do not.
func TestLearnExercises(t *testing.T) {
	need.Tool(t, "g++")
	all, err := exercise.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		t.Run(e.Name, func(t *testing.T) {
			ending := filepath.Ext(e.File)
			// What judges user files has suites of its own, which ask it more than exercises do.
			need.Covers(t, e.Pass.String()+" "+ending, append(need.Operator(e.Op),
				"internal/exercise/exercises/"+e.Name, "internal/exercise/done.go", "cmd/triad/learn")...)
			if ending == ".py" && os.Getenv("TRIAD_TEST_PYTHON") == "" {
				need.MissingSetUp(t, os.ErrNotExist)
			}
			judgeExercise(t, e)
		})
	}
}

func judgeExercise(t *testing.T, e exercise.Exercise) {
	t.Helper()
	folder := t.TempDir()
	db := filepath.Join(folder, "results.db")
	file := filepath.Join(folder, e.File)
	if text, code := runTriad(t, "learn", e.Name, "--into", folder); code != 0 {
		t.Fatalf("triad learn: exit %d\n%s", code, text)
	}
	for _, version := range []struct {
		name, source string // "": as triad learn wrote it
		passes       bool
	}{{"starter", "", false}, {"wrong version", e.Wrong, false}, {"solution", e.Solution, true}} {
		if version.source != "" {
			if err := os.WriteFile(file, []byte(version.source), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		text, code := runTriad(t, "compare", e.Op, "--pass", e.Pass.String(), "--impl", "mine", "--quick",
			"--device", "cpu", "--db", db, "--add", file)
		if want := map[bool]int{true: 0, false: 1}[version.passes]; code != want {
			t.Errorf("the %s: exit %d, want %d (mistake: %s)\n%s", version.name, code, want, e.Mistake, text)
		}
		listed, code := runTriad(t, "learn", e.Name, "--json", "--db", db)
		var line exercise.Line
		if err := json.Unmarshal([]byte(strings.TrimSpace(listed)), &line); err != nil || code != 0 {
			t.Fatalf("exit %d, %v\n%s", code, err, listed)
		}
		if line.Done != version.passes {
			t.Errorf("after the %s: done %v, want %v", version.name, line.Done, version.passes)
		}
	}
}
