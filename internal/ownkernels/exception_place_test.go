package ownkernels

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/ownfile/pyparser"
)

// The line that raised an exception is the user's, in the file itself or in what it imports, not a library's.
func TestLineThatRaised(t *testing.T) {
	folder := t.TempDir()
	write := func(name string) string {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("import torch\nassert a.ndim == 2\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	imported, library := write("own/helper.py"), write("own/site-packages/library.py")
	mine, elsewhere := filepath.Join(folder, "own", "mine.py"), write("elsewhere.py")
	link, pipe := filepath.Join(folder, "own", "link.py"), filepath.Join(folder, "own", "pipe.py")
	if err := errors.Join(os.Symlink(elsewhere, link), unix.Mkfifo(pipe, 0o600)); err != nil {
		t.Fatal(err)
	}
	f := &File{Path: mine, lines: []string{"x", "assert x.is_cuda"}, interpretation: parsing}
	for _, c := range []struct {
		at   *backend.Where
		want string
	}{
		{nil, ""},
		{&backend.Where{File: mine, Line: 2}, "assert x.is_cuda"},
		{&backend.Where{File: imported, Line: 2}, "assert a.ndim == 2"},
		{&backend.Where{File: imported, Line: 9}, ""},
		{&backend.Where{File: library, Line: 2}, ""},
		{&backend.Where{File: "gone.py", Line: 2}, ""},
		// code may call itself anything
		{&backend.Where{File: elsewhere, Line: 2}, ""},
		{&backend.Where{File: link, Line: 2}, ""},
		{&backend.Where{File: pipe, Line: 2}, ""},
		{&backend.Where{File: filepath.Join(folder, "own", "..", "elsewhere.py"), Line: 2}, ""},
	} {
		if got := f.raised(c.at).Line; got != c.want {
			t.Errorf("%v: %q, want %q", c.at, got, c.want)
		}
	}
}

// parsing is an interpretation with Python's own parser.
var parsing = Interpretation{Workers: Workers{Parse: pyparser.New(pyparser.OfPATH)}}

// The head of the function that raised an exception includes its decorators, its parameters and their parts.
func TestHeadOfWhatRaised(t *testing.T) {
	f := &File{Path: "mine.py", lines: strings.Split(`import torch
@triton.autotune(configs=[],
                 key=[])
@triton.jit
def kernel(x, # :
           y):
    return x
def solve(data):
    q, k = data
    a, b = other
    n, d = q.shape`, "\n"), interpretation: parsing}
	for _, c := range []struct {
		at   *backend.Where
		want string
	}{
		{nil, ""},
		{
			&backend.Where{File: "mine.py", Line: 7, Kernel: "kernel"},
			"@triton.autotune(configs=[], key=[])\n@triton.jit\ndef kernel(x, y):",
		},
		{&backend.Where{File: "mine.py", Line: 11, Kernel: "solve"}, "def solve(data, (q, k)):"},
		{&backend.Where{File: "mine.py", Line: 11, Kernel: "<lambda>"}, ""},
	} {
		if got := f.raised(c.at).Head; got != c.want {
			t.Errorf("%v: %q, want %q", c.at, got, c.want)
		}
	}
}

// The condition of the block of an exception says when it is raised.
func TestGuardOfWhatRaised(t *testing.T) {
	f := &File{Path: "mine.py", lines: strings.Split(`def solve(x):
    if x.ndim != 2:  # a matrix

        # alone
        raise ValueError(
            "a matrix")
    if x.shape[1] > 9: raise ValueError("long")
    try:
        return x[7]
    except IndexError:
        raise ValueError("short")`, "\n"), interpretation: parsing}
	for line, want := range map[int]string{
		5: "if x.ndim != 2", 7: "if x.shape[1] > 9", 9: "", 11: "excepthandler",
	} {
		if got := f.raised(&backend.Where{File: "mine.py", Line: line}).Guard; got != want {
			t.Errorf("line %d: %q, want %q", line, got, want)
		}
	}
}

// Returned values that cannot be told apart are no crash.
func TestReturnsOthers(t *testing.T) {
	o := backend.Outcome{Status: op.StatusCrash, Sentence: "ReturnedOtherwise: f returns 1 of the 2"}
	if returnsOthers(&o); o.Status != op.StatusUnsupported || o.Sentence != "f returns 1 of the 2" {
		t.Errorf("%v %q", o.Status, o.Sentence)
	}
}
