package results

import (
	"strings"
	"testing"
)

// One call of a function is one step of SQLite's, and may take hours: the statement still ends soon after its
// deadline.
func TestACallThatDoesNotEnd(t *testing.T) {
	path := databaseFor(t, 1)
	const long, pattern = "printf('%.*c', 9000000, 'a')", "printf('%.*c', 4000000, 'a') || 'b'"
	for _, statement := range []string{
		"SELECT instr(" + long + ", " + pattern + ")",
		"SELECT length(replace(" + long + ", " + pattern + ", 'c'))",
		"SELECT length(trim(" + long + ", hex(zeroblob(2000000)) || 'a'))",
	} {
		out, err := runHostile(path, statement, t.TempDir())
		said := strings.Contains(out.Error, "stopped after 2s")
		if err != nil || out.Seconds > 3.5 || !said && out.Seconds > 2 {
			t.Errorf("%s\ntook %.2f s: %q, %v", statement, out.Seconds, out.Error, err)
		}
	}
}
