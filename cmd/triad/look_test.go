package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"triad/internal/need"
)

// Folders of beginners' files get the lines in testdata/folders/expected.txt: no operator and no flag names
// what they are. What was found is recorded, each file as what it is.
func TestFoldersOfBeginners(t *testing.T) {
	need.Covers(t, "look", "internal/look", "cmd/triad/testdata/folders", "internal/firstlook",
		"internal/operatorguess")
	needsPython(t)
	db := filepath.Join(t.TempDir(), "look.db")
	text, code := runTriad(t, "testdata/folders", "--once", "--db", db)
	var lines []string
	for line := range strings.Lines(text) {
		line = regexp.MustCompile(` +\d+\.\d s$`).ReplaceAllString(strings.TrimRight(line, "\n"), "")
		if !strings.HasPrefix(line, "-v prints") {
			lines = append(lines, strings.TrimRight(line, " "))
		}
	}
	want, err := os.ReadFile("testdata/folders/expected.txt")
	if err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(lines, "\n") + "\n"; got != string(want) || code != 1 {
		t.Errorf("exit %d\n%s\nwant\n%s", code, got, want)
	}
	text, _ = runTriad(t, "results", "query", "--db", db, "--format", "csv", "SELECT h.implementation, "+
		"count(DISTINCT h.op), sum(h.status = 'NOT_UNDERSTOOD'), sum(r.diagnosis_json IS NOT NULL) "+
		"FROM history h JOIN run r USING (run_id) GROUP BY h.implementation")
	for _, says := range []string{
		"mine/block_sum.cu,1,0,1", "mine/game_of_life.cu,1,1,0",
		"mine/add.py,1,0,0",
	} {
		if !strings.Contains(text, says) {
			t.Errorf("%q is not recorded:\n%s", says, text)
		}
	}
}
