package main

import (
	"os"
	"path/filepath"
	"testing"

	"triad/internal/exercise"
	"triad/internal/need"
	"triad/results"
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
			need.Covers(t, ending, append(need.Operator(e.Op),
				"internal/exercise/exercises/"+e.Name, "internal/exercise/passed_exercises.go",
				"cmd/triad/learn")...)
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
	db, file := filepath.Join(folder, "results.db"), filepath.Join(folder, e.File)
	for _, version := range []struct {
		name, source string
		passes       bool
	}{{"starter", e.Starter, false}, {"wrong version", e.Wrong, false}, {"solution", e.Solution, true}} {
		if err := os.WriteFile(file, []byte(version.source), 0o644); err != nil {
			t.Fatal(err)
		}
		text, code := runTriad(t, "compare", e.Op, "--pass", e.Pass.String(), "--impl", "mine", "--quick",
			"--device", "cpu", "--db", db, "--add", file)
		if want := map[bool]int{true: 0, false: 1}[version.passes]; code != want {
			t.Errorf("the %s: exit %d, want %d (mistake: %s)\n%s", version.name, code, want, e.Mistake, text)
		}
		if done := isDone(t, e, db); done != version.passes {
			t.Errorf("after the %s: done %v, want %v", version.name, done, version.passes)
		}
	}
}

// isDone reports whether a database says that an exercise is done.
func isDone(t *testing.T, e exercise.Exercise, db string) bool {
	t.Helper()
	store, err := results.Open(t.Context(), db, results.Options{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	tallies, err := store.Tallies(t.Context(), results.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	_, done := exercise.Done([]exercise.Exercise{e}, tallies)[e.Name]
	return done
}
