package ownkernels

import (
	"os"
	"path/filepath"
	"testing"

	"triad/internal/backend"
)

// The line that raised an exception is the user's in the file itself and in what it imports, not in a
// library.
func TestLineThatRaised(t *testing.T) {
	folder := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("import torch\nassert a.ndim == 2\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	imported, library := write("helper.py"), write("site-packages/library.py")
	f := &File{Path: "mine.py", lines: []string{"x", "assert x.is_cuda"}}
	for _, c := range []struct {
		at   *backend.Where
		want string
	}{
		{nil, ""},
		{&backend.Where{File: "mine.py", Line: 2}, "assert x.is_cuda"},
		{&backend.Where{File: imported, Line: 2}, "assert a.ndim == 2"},
		{&backend.Where{File: imported, Line: 9}, ""},
		{&backend.Where{File: library, Line: 2}, ""},
		{&backend.Where{File: "gone.py", Line: 2}, ""},
	} {
		if got := f.raisedAt(c.at); got != c.want {
			t.Errorf("%v: %q, want %q", c.at, got, c.want)
		}
	}
}
