package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestEarlierDecks: a solution is judged by the problem of the day on which it was written, if that was
// another one; also by a copy of the clone without its history.
func TestEarlierDecks(t *testing.T) {
	clone := t.TempDir()
	git := func(date string, args ...string) {
		t.Helper()
		c := exec.Command("git", append([]string{
			"-C", clone, "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false",
		}, args...)...)
		c.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+date, "GIT_AUTHOR_DATE="+date)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	put := func(deck, reference string) {
		for name, text := range map[string]string{
			"reference.py": reference, "shapes.py": "shapes", "problem.yaml": "stated",
		} {
			wrote(t, filepath.Join(clone, "benchmarks", "hard", deck, "01_sum", name), text)
		}
	}
	git("", "init", "-q")
	put("problems", "first")
	git("2026-06-01T00:00:00-0600", "add", ".")
	git("2026-06-01T00:00:00-0600", "commit", "-q", "-m", "first")
	git("", "rm", "-q", "-r", "benchmarks/hard/problems")
	put("problems-b200", "second")
	git("", "add", ".")
	git("2026-06-14T13:28:00-0600", "commit", "-q", "-m", "second")

	all := []*solution{
		{run: "20260614_132700_a_01_sum", deck: "hard", problem: "01_sum", card: "b200"},
		{run: "20260614_132900_b_01_sum", deck: "hard", problem: "01_sum", card: "b200"},
		{run: "20260501_000000_c_01_sum", deck: "hard", problem: "01_sum", card: "b200"}, // earlier
		{run: "20260601_010000_d_02_max", deck: "hard", problem: "02_max", card: "b200"}, // has none
		{run: "d_01_sum", deck: "hard", problem: "01_sum", card: "b200"},
	}
	j := &judging{clone: clone, work: filepath.Join(t.TempDir(), "work")}
	for _, from := range []string{"the history", "what is kept"} {
		found, err := j.earlierDecks(t.Context(), all)
		if err != nil || len(found) != 1 {
			t.Fatalf("from %s: %v, %v; want the problem of one solution", from, found, err)
		}
		j.earlier = found
		text, err := os.ReadFile(filepath.Join(j.problemOf(all[0]), "reference.py"))
		if string(text) != "first" || err != nil {
			t.Errorf("from %s: the problem is %q: want the first one; %v", from, text, err)
		}
		if at := j.problemOf(all[1]); at != all[1].problemFolder(clone) {
			t.Errorf("from %s: the problem is %s: want the clone's", from, at)
		}
		if err := os.RemoveAll(filepath.Join(clone, ".git")); err != nil {
			t.Fatal(err)
		}
	}
}
