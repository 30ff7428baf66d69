package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// writeFiles writes files with the same text into a folder.
func writeFiles(t *testing.T, folder, text string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700),
			os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}
