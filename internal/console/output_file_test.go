package console

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestToFile: a file is replaced as a whole; the target of a link is written, not the link; a folder is
// refused; a device stays one.
func TestToFile(t *testing.T) {
	folder := t.TempDir()
	file, link := filepath.Join(folder, "out.txt"), filepath.Join(folder, "link")
	if err := os.WriteFile(file, []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	hello := func(w io.Writer) error {
		_, err := io.WriteString(w, "hello")
		return err
	}
	if err := ToFile(nil, link, hello); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "hello" {
		t.Errorf("%q, %v behind the link", text, err)
	}
	if at, err := os.Lstat(link); err != nil || at.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is replaced: %v", err)
	}
	if err := ToFile(nil, folder, hello); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("a folder: %v", err)
	}
	if err := ToFile(nil, os.DevNull, hello); err != nil {
		t.Error(err)
	}
	if at, err := os.Stat(os.DevNull); err != nil || at.Mode()&os.ModeCharDevice == 0 {
		t.Errorf("the null device is replaced: %v", err)
	}
}
