package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/console"
	"triad/internal/session"
)

// TestTheDatabaseThatIsNamed: TRIAD_DB names the database if no flag does, and printed commands name one that
// a flag gave.
func TestTheDatabaseThatIsNamed(t *testing.T) {
	folder := t.TempDir()
	ran := func(variable string, args ...string) (string, session.ExitCode) {
		t.Helper()
		var out bytes.Buffer
		a := newApp(strings.NewReader(""), &out, &out)
		own := a.Getenv
		a.Getenv = func(name string) string {
			if name == console.DatabaseVariable {
				return variable
			}
			return own(name)
		}
		code := a.execute(args)
		return out.String(), code
	}
	byVariable, byFlag := filepath.Join(folder, "variable.db"), filepath.Join(folder, "my flag.db")
	text, code := ran(byVariable, "results", "show", "01ARZ3NDEK")
	if code != session.ExitNothing || !strings.Contains(text, byVariable) {
		t.Errorf("the variable names no database yet: exit %d, %s", code, text)
	}
	nowhere := filepath.Join(folder, "nowhere", "r.db")
	if text, code := ran(nowhere, "results", "list"); code != session.ExitUsage ||
		!strings.Contains(text, "TRIAD_DB "+nowhere) {
		t.Errorf("a folder that is not there: exit %d, %s", code, text)
	}
	store, err := newApp(nil, &bytes.Buffer{}, &bytes.Buffer{}).OpenStore(t.Context(), byFlag)
	if err != nil {
		t.Fatal(err)
	}
	store.Close()
	text, _ = ran(byVariable, "results", "show", "01ARZ3NDEK", "--db", byFlag)
	if want := "`triad results list --db '" + byFlag + "'` shows"; !strings.Contains(text, want) {
		t.Errorf("%s\nlacks %s", text, want)
	}
}

// TestVersionFlag: --version prints the same as `triad version`.
func TestVersionFlag(t *testing.T) {
	var texts []string
	for _, arg := range []string{"version", "--version", "-v"} {
		var out bytes.Buffer
		if code := newApp(nil, &out, &out).execute([]string{arg}); code != session.ExitGood {
			t.Errorf("%s: exit %d", arg, code)
		}
		texts = append(texts, out.String())
	}
	if texts[0] != texts[1] || texts[0] != texts[2] || !strings.HasPrefix(texts[0], "triad ") {
		t.Errorf("%q", texts)
	}
}
