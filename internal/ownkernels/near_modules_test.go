package ownkernels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A module in a folder next to the file's is named with its folder, not as a package to install.
func TestNearModule(t *testing.T) {
	root := filepath.Join(t.TempDir(), "a[1]")
	for _, name := range []string{"02_tiled/tiled.py", "01_plain/plain.py", "parts/__init__.py"} {
		if err := os.MkdirAll(filepath.Join(root, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, name), []byte("x = 1\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	says := func(module string) string {
		return nearModule(filepath.Join(root, "02_tiled", "tiled.py"),
			"it imports "+module+", which is not in the Python that runs it: pip install "+module)
	}
	got, want := says("plain"), "PYTHONPATH="+filepath.Join(root, "01_plain")
	if !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
	if got, want := says("parts"), "PYTHONPATH="+root; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q at its end", got, want)
	}
	if got := says("nowhere"); got != "" {
		t.Errorf("%q of a module that is nowhere", got)
	}
	if got := nearModule(root, "it includes a.h, which is not here"); got != "" {
		t.Errorf("%q of a header", got)
	}
}
