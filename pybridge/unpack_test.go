package pybridge

import (
	"os"
	"path/filepath"
	"testing"

	"triad"
)

// Files that a kernel wrote into are restored before the next worker runs them.
func TestUnpackHeals(t *testing.T) {
	cache := t.TempDir()
	root, err := unpack(triad.Files, cache)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "pybridge", "worker", "tensors.py")
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("raise SystemExit"), 0o644); err != nil {
		t.Fatal(err)
	}
	if again, err := unpack(triad.Files, cache); err != nil || again != root {
		t.Fatalf("%s, %v; want %s", again, err, root)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
		t.Errorf("%v: %d bytes, want the %d of before", err, len(got), len(want))
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "*")); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}
