package triad_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"triad/internal/need"
)

// topLevel lists all that may lie in the root of the repository, apart from tests.
var topLevel = []string{
	".ci", ".dockerignore", ".gitignore", "CHANGELOG.md", "LICENSE", "Makefile", "README.md", "VERSION",
	"cmd", "cuda", "docs", "embed.go", "go.mod", "go.sum", "internal", "pybridge", "release",
	"requirements-cuda.txt", "requirements-cutile.txt", "requirements-peers.txt", "requirements.txt",
	"results", "ruff.toml",
	"staticcheck.conf", "testdata", "triton",
}

// binaries lists the patterns of tracked files that are no text, each with the reason.
var binaries = map[string]string{
	"docs/*.png": "pictures that the pages show",
}

// largest is the limit in bytes of a tracked file. Only folders of largeFiles may hold larger ones.
const largest = 1 << 20

// largeFiles lists the folders of tracked files above the limit, each with the reason.
var largeFiles = map[string]string{
	"results/published/": "sessions recorded on GPUs: a JSON line for each result",
}

// TestTrackedFiles: a program or an archive that go build or tar left in the checkout is easily committed,
// and stays in every clone.
func TestTrackedFiles(t *testing.T) {
	out, err := exec.Command(need.Tool(t, "git"), "ls-files", "-z").Output()
	if err != nil {
		need.Missing(t, fmt.Sprintf("no git checkout (%v): clone the repository", err))
	}
	names := strings.Split(strings.TrimRight(string(out), "\x00"), "\x00")
	if len(names) < 1000 {
		t.Errorf("git tracks %d files: want the whole repository", len(names))
	}
	used := map[string]bool{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // git still knows it
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, why := range refused(name, text, used) {
			t.Errorf("%s %s", name, why)
		}
	}
	for _, name := range topLevel {
		if _, err := os.Stat(name); err != nil {
			t.Errorf("%v: take it from topLevel", err)
		}
	}
	for pattern := range binaries {
		if !used[pattern] {
			t.Errorf("no file needs the exception %s any more", pattern)
		}
	}
	for folder := range largeFiles {
		if !used[folder] {
			t.Errorf("no file needs the exception %s any more", folder)
		}
	}
}

// refused returns the reasons why a file with this name and content must not be tracked, and adds the
// exceptions that it needs to used.
func refused(name string, text []byte, used map[string]bool) (why []string) {
	top, _, inFolder := strings.Cut(name, "/")
	if !slices.Contains(topLevel, top) && (inFolder || !strings.HasSuffix(name, "_test.go")) {
		why = append(why, "lies in no folder of the repository: move it, or add it to topLevel")
	}
	if bytes.IndexByte(text, 0) >= 0 || !utf8.Valid(text) {
		allowed := false
		for pattern := range binaries {
			if matches, err := path.Match(pattern, name); err == nil && matches {
				allowed, used[pattern] = true, true
			}
		}
		if !allowed {
			why = append(why, "is a program, an archive or another binary: remove it, or add it to binaries")
		}
	}
	if len(text) > largest {
		allowed := false
		for folder := range largeFiles {
			if strings.HasPrefix(name, folder) {
				allowed, used[folder] = true, true
			}
		}
		if !allowed {
			why = append(why, fmt.Sprintf("has %d bytes, at most %d are allowed: remove it, or name it in "+
				"largeFiles", len(text), largest))
		}
	}
	return why
}

func TestTrackedFilesBite(t *testing.T) {
	program, archive := "\x7fELF\x02\x01\x01\x00", "\x1f\x8b\x08\x08\xff"
	long := strings.Repeat("x", largest+1)
	for _, c := range []struct {
		name, text string
		reasons    int
	}{
		{"published", program + long, 3},
		{"results/published/published", program + long, 1},
		{"cuda/kernels.tar.gz", archive, 1},
		{"cmd/triad/testdata/page.png", "\x89PNG\r\n\x1a\n\x00", 1},
		{"cmd/triad/testdata/long.csv", long, 1},
		{"notes.txt", "what to do", 1},
		{"tools/x_test.go", "package tools", 1},
		{"docs/page.png", "\x89PNG\r\n\x1a\n\x00", 0},
		{"results/published/h200/x.jsonl", long, 0},
		{"x_test.go", "package triad_test // µs", 0},
	} {
		if why := refused(c.name, []byte(c.text), map[string]bool{}); len(why) != c.reasons {
			t.Errorf("%s is refused for %d reasons, want %d: %v", c.name, len(why), c.reasons, why)
		}
	}
}
