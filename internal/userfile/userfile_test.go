package userfile

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// made returns a folder with a file of each kind that a name may lead to.
func made(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	err := errors.Join(
		os.MkdirAll(at("given/inner"), 0o755),
		os.WriteFile(at("secret.txt"), []byte("secret"), 0o644),
		os.WriteFile(at("given/plain.h"), []byte("plain"), 0o644),
		os.WriteFile(at("given/inner/deep.h"), []byte("deep"), 0o644),
		os.Symlink("inner/deep.h", at("given/link.h")),
		os.Symlink(at("secret.txt"), at("given/out.h")),
		os.Symlink(folder, at("given/above")),
		os.Symlink("/dev/zero", at("given/zero.h")),
		unix.Mkfifo(at("given/pipe.h"), 0o600),
		os.WriteFile(at("given/sparse.h"), nil, 0o644),
		os.Truncate(at("given/sparse.h"), 6<<30),
	)
	if err != nil {
		t.Fatal(err)
	}
	return folder
}

// A file that a user names is read wherever it lies, if it is regular and no larger than it may be; what
// another file names, inside the folders that were given alone.
func TestRead(t *testing.T) {
	folder := made(t)
	given := Within(filepath.Join(folder, "given"))
	for name, want := range map[string]struct{ text, anywhere, inside string }{
		"plain.h":            {text: "plain"},
		"link.h":             {text: "deep"},
		"inner/../plain.h":   {text: "plain"},
		"out.h":              {text: "secret", inside: "outside of the folders"},
		"../secret.txt":      {text: "secret", inside: "outside of the folders"},
		"above/secret.txt":   {text: "secret", inside: "outside of the folders"},
		"zero.h":             {anywhere: "no regular file", inside: "no regular file"},
		"pipe.h":             {anywhere: "no regular file", inside: "no regular file"},
		"sparse.h":           {anywhere: "6442450944 bytes", inside: "6442450944 bytes"},
		"inner":              {anywhere: "directory", inside: "directory"},
		"gone.h":             {anywhere: "no such file", inside: "no such file"},
		"/proc/self/pagemap": {anywhere: "read", inside: "outside of the folders"}, // it has no size
	} {
		path := filepath.Join(folder, "given", name)
		if filepath.IsAbs(name) {
			path = name
		}
		for _, read := range []struct {
			with func(string) ([]byte, error)
			says string
		}{{Read, want.anywhere}, {given.Read, want.inside}} {
			began := time.Now()
			text, err := read.with(path)
			if took := time.Since(began); took > 2*time.Second {
				t.Errorf("%s: read for %v", name, took)
			}
			switch {
			case read.says == "" && (err != nil || string(text) != want.text):
				t.Errorf("%s: %q, %v, want %q", name, text, err, want.text)
			case read.says != "" && (err == nil || !strings.Contains(err.Error(), read.says)):
				t.Errorf("%s: %d bytes, %v, want an error with %q", name, len(text), err, read.says)
			}
		}
	}
}

// A refused file is distinguished from a missing one.
func TestRefusedOrAbsent(t *testing.T) {
	folder := made(t)
	var refused *RefusedError
	if _, err := Read(filepath.Join(folder, "given", "pipe.h")); !errors.As(err, &refused) {
		t.Errorf("a pipe: %v, want a refusal", err)
	}
	if _, err := Read(filepath.Join(folder, "gone")); errors.As(err, &refused) || !os.IsNotExist(err) {
		t.Errorf("what is not there: %v", err)
	}
}

// The tree of a file is its repository, or a few folders above it, and never a folder of many owners.
func TestTree(t *testing.T) {
	folder := t.TempDir()
	deep := filepath.Join(folder, "home", "a", "b", "c", "d", "e")
	if err := errors.Join(os.MkdirAll(deep, 0o755),
		os.MkdirAll(filepath.Join(folder, "home", "a", "b", ".git"), 0o755)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", filepath.Join(folder, "home"))
	t.Setenv("TMPDIR", folder)
	for file, want := range map[string]string{
		"home/a/b/c/d/x.cu": "home/a/b", "home/a/b/x.cu": "home/a/b", "home/a/x.cu": "home/a",
		"home/x.cu": "home", "other/a/b/c/d/x.cu": "other/a", "other/a/x.cu": "other", "x.cu": ".",
	} {
		if got := Tree(filepath.Join(folder, file)); got != filepath.Join(folder, want) {
			t.Errorf("%s: %s, want %s", file, got, filepath.Join(folder, want))
		}
	}
	if got := Tree("/tmp/x.cu"); got != "/tmp" {
		t.Errorf("the tree of a file in /tmp is %s", got)
	}
}
