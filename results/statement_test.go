package results

import "testing"

// Parameters without a value are distinguished from text that only looks like one.
func TestParametersOfOtherKinds(t *testing.T) {
	for statement, want := range map[string]string{
		"SELECT ?1": "?1", "SELECT ?": "?", "SELECT @a": "@a", "SELECT $a": "$a",
		"SELECT 1 + @total": "@total",
		"SELECT :a":         "", "SELECT '?'": "", `SELECT "a@b"`: "",
		"SELECT a$b FROM t": "", "SELECT 1 -- ?1": "",
		"SELECT /* @a */ 1": "", "SELECT json_extract(x, '$.a') FROM t": "",
	} {
		if got := otherParameter(statement); got != want {
			t.Errorf("%s: %q, want %q", statement, got, want)
		}
	}
}
