package problem

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPublishedTables: each table names the commit that it was made from, its rows have a verdict, its last
// line counts them, and the text has the same rows.
func TestPublishedTables(t *testing.T) {
	tables, err := filepath.Glob("../../results/published/problems/*.jsonl")
	if err != nil || len(tables) == 0 {
		t.Fatalf("%v, %v", tables, err)
	}
	for _, path := range tables {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		shown, err := os.ReadFile(strings.TrimSuffix(path, "jsonl") + "txt")
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		var from struct{ Repository, Commit string }
		if err := json.Unmarshal([]byte(lines[0]), &from); err != nil || len(from.Commit) != 40 ||
			!strings.Contains(string(shown), from.Commit) {
			t.Errorf("%s is made from %+v, %v", path, from, err)
		}
		counts := map[Verdict]int{}
		for _, line := range lines[1 : len(lines)-1] {
			var row Audited
			if err := json.Unmarshal([]byte(line), &row); err != nil || row.Problem == "" {
				t.Errorf("%s: %s: %v", path, line, err)
			}
			counts[row.Verdict]++
			if !strings.Contains(string(shown), "\n"+row.Problem+" ") {
				t.Errorf("%s: the text has no row of %s", path, row.Problem)
			}
		}
		var end counted
		if err := json.Unmarshal([]byte(lines[len(lines)-1]), &end); err != nil ||
			end.Problems != len(lines)-2 || end.Sound != counts[Sound] || end.Weak != counts[Weak] ||
			end.Constant != counts[Constant] || end.Unjudgeable != counts[Unjudgeable] {
			t.Errorf("%s ends with %+v, and its rows are %v: %v", path, end, counts, err)
		}
	}
}
