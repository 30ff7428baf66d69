package scratch

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The folders of an ended process are removed; a folder whose process lives stays, and so does everything
// that is no folder of triad's.
func TestSweep(t *testing.T) {
	within := t.TempDir()
	t.Setenv("TMPDIR", within)
	lives, err := Make("worker")
	if err != nil {
		t.Fatal(err)
	}
	left, other := filepath.Join(within, prefix+"worker-1"), filepath.Join(within, "triad-notes")
	err = errors.Join(os.MkdirAll(filepath.Join(left, "inner"), 0o755), os.Mkdir(other, 0o755))
	if err != nil {
		t.Fatal(err)
	}
	sweep(within, time.Now())
	if _, err := os.Stat(left); err != nil {
		t.Error("a folder that was just made is removed")
	}
	sweep(within, time.Now().Add(time.Hour))
	if _, err := os.Stat(left); err == nil {
		t.Error("what an ended process left is there")
	}
	for _, path := range []string{lives.Path, other} {
		if _, err := os.Stat(path); err != nil {
			t.Errorf("%s is removed", path)
		}
	}
	lives.Remove()
	if _, err := os.Stat(lives.Path); err == nil {
		t.Error("a folder that was removed is there")
	}
}
