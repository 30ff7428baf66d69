package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// steadyFolder returns an empty folder for files that a test has triad compile: the same one in each run for
// the same name, unless it is in use. What is compiled is kept under the path of its source; in t.TempDir,
// whose name differs in each run, everything is compiled again.
func steadyFolder(t *testing.T, name string) string {
	t.Helper()
	folder := filepath.Join(sharedCache(t), "triad-tests", strings.ReplaceAll(name, " ", "_"))
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(folder+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return t.TempDir()
	}
	empty := func() {
		_ = filepath.WalkDir(folder, func(path string, entry os.DirEntry, _ error) error {
			if entry != nil && entry.IsDir() {
				_ = os.Chmod(path, 0o700) // a test may have taken the permission to remove from it
			}
			return nil
		})
		if err := os.RemoveAll(folder); err != nil {
			t.Error(err)
		}
	}
	empty()
	t.Cleanup(empty)
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	return folder
}
