package fileversion

import (
	"crypto/sha256"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"triad/internal/need"
)

// An included file that is no regular file, that is too large or that lies outside the project is neither
// read nor hashed; nor is the file itself if it has become a pipe.
func TestWhatIsNotRead(t *testing.T) {
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	if err := errors.Join(
		os.MkdirAll(at("own/.git"), 0o755),
		unix.Mkfifo(at("own/pipe.h"), 0o600),
		unix.Mkfifo(at("own/mine.cu"), 0o600),
		os.WriteFile(at("secret.h"), []byte("int secret;"), 0o644),
		os.WriteFile(at("own/sparse.h"), nil, 0o644),
		os.Truncate(at("own/sparse.h"), 6<<30),
		os.Symlink(at("secret.h"), at("own/out.h")),
	); err != nil {
		t.Fatal(err)
	}
	write(t, at("own/plain.h"), "int a;\n")
	kernel := at("own/kernel.cu")
	write(t, kernel, "#include \"plain.h\"\n#include \"pipe.h\"\n#include \"sparse.h\"\n#include \"out.h\"\n"+
		"#include \"../secret.h\"\n#include \"/proc/self/pagemap\"\n#include \""+
		strings.Repeat("../", 20)+"dev/zero\"\n")
	began := time.Now()
	headers := Included(kernel, nil)
	if len(headers) != 1 || headers[0].Path != at("own/plain.h") || string(headers[0].Text) != "int a;\n" {
		t.Errorf("%v is included, want plain.h alone", headers)
	}
	WriteContents(sha256.New(), at("own/mine.cu"))
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("read for %v", took)
	}
	if got := Included(kernel, []string{folder}); len(got) != 3 {
		t.Errorf("with the folder above given: %v, want plain.h and both names of secret.h", got)
	}
}

// The configuration of a repository names no program that git starts to learn of changes.
func TestRepositoryStartsNoMonitor(t *testing.T) {
	folder := t.TempDir()
	kernel, started := filepath.Join(folder, "mine.cu"), filepath.Join(folder, "started")
	write(t, kernel, "int a;\n")
	monitor := filepath.Join(folder, "monitor.sh")
	if err := os.WriteFile(monitor, []byte("#!/bin/sh\ntouch '"+started+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q"},
		{"add", "mine.cu"},
		{"-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "first"},
		{"config", "core.fsmonitor", monitor},
	} {
		args = append([]string{"-C", folder}, args...)
		out, err := exec.Command(need.Tool(t, "git"), args...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	Commit(t.Context(), kernel)
	Head(t.Context(), folder)
	if _, err := os.Stat(started); err == nil {
		t.Error("git started what the repository's configuration names")
	}
}
