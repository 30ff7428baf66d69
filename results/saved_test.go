package results

import (
	"strings"
	"testing"
	"time"
)

// TestSaveQuery: a saved query is listed behind those that come with triad, with the values of its
// parameters; it takes no other name's place.
func TestSaveQuery(t *testing.T) {
	folder := t.TempDir() + "/queries"
	statement := "select implementation\n  from latest where op = :op"
	// The second replaces the first.
	for _, params := range []map[string]any{{"op": "first"}, {"op": "second"}} {
		if err := SaveQuery(folder, "mine", statement, params); err != nil {
			t.Fatal(err)
		}
	}
	all, err := KnownQueries(folder, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	last := all[len(all)-1]
	if last.Name != "mine" || last.Question != "select implementation from latest where op = :op" {
		t.Errorf("listed as %q: %q", last.Name, last.Question)
	}
	text, defaults, err := Find(all, "mine")
	if err != nil || defaults["op"] != "second" || !strings.HasSuffix(text, statement+"\n") {
		t.Errorf("%q with %v: %v", text, defaults, err)
	}
	if _, _, err := Find(all, "other"); err == nil || !strings.Contains(err.Error(), "slowest, mine") {
		t.Errorf("an unknown name: %v", err)
	}
	for name, params := range map[string]map[string]any{
		"slowest": nil, "../mine": nil, "": nil, "commas": {"op": "a,b"},
	} {
		if err := SaveQuery(folder, name, statement, params); err == nil {
			t.Errorf("%q was saved", name)
		}
	}
}
