package triad_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad"
	"triad/internal/need"
)

// TestEmbeddedIsWhatGitHas: a file that go:embed leaves out (its name begins with _ or a dot) or that git
// does not know would be missing on other computers.
func TestEmbeddedIsWhatGitHas(t *testing.T) {
	out, err := exec.Command(need.Tool(t, "git"), "ls-files", "--cached", "--others", "--exclude-standard",
		"-z").Output()
	if err != nil {
		need.Missing(t, fmt.Sprintf("no git checkout (%v): clone the repository", err))
	}
	var want []string
	for _, name := range strings.Split(string(bytes.TrimRight(out, "\x00")), "\x00") {
		if embeds(name) {
			want = append(want, name)
		}
	}
	var got []string
	if err := fs.WalkDir(triad.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			got = append(got, name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s is in the repository and not embedded", name)
		}
	}
	for _, name := range got {
		if !slices.Contains(want, name) {
			t.Errorf("%s is embedded and not in the repository", name)
		}
	}
}

func embeds(name string) bool {
	for _, folder := range []string{"cuda/kernels/", "cuda/include/", "cuda/runtime/", "cuda/emulator/"} {
		if strings.HasPrefix(name, folder) {
			return true
		}
	}
	if name == "cuda/abi.h" || strings.HasPrefix(name, "requirements") && strings.HasSuffix(name, ".txt") {
		return true
	}
	folder := path.Dir(name)
	return path.Ext(name) == ".py" && (folder == "triton" || path.Dir(folder) == "pybridge" &&
		folder != "pybridge/tests" && folder != "pybridge/testdata" && folder != "pybridge/python")
}

// TestEmbeddedFoldersHoldNoGo: the go tool would take them for packages, and a folder with Go files must hold
// no C++.
func TestEmbeddedFoldersHoldNoGo(t *testing.T) {
	if err := fs.WalkDir(triad.Files, "cuda", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".go" {
			t.Errorf("%s: a Go file among the embedded sources", name)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// TestChangelogKnowsTheVersion: a release is described under its own number.
func TestChangelogKnowsTheVersion(t *testing.T) {
	text, err := os.ReadFile("CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	newest := regexp.MustCompile(`(?m)^## .*$`).FindString(string(text))
	want := regexp.MustCompile(`^## \[` + regexp.QuoteMeta(triad.Version) + `\] - \d{4}-\d\d-\d\d$`)
	if !want.MatchString(newest) {
		t.Errorf("the newest entry of CHANGELOG.md is %q, VERSION is %s", newest, triad.Version)
	}
}
