package opfolder

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad"
	"triad/internal/catalog"
	"triad/internal/op"
)

// TestCreateMakesWhatOpenReads: Open accepts everything that Create makes, the small operator and a copy of
// every operator of the catalog.
func TestCreateMakesWhatOpenReads(t *testing.T) {
	var plain []string // those with a kernel that registers nothing
	for _, from := range append([]string{""}, catalog.Names()...) {
		folder := filepath.Join(t.TempDir(), "my_op")
		if err := Create(folder, from, triad.Files); err != nil {
			t.Errorf("from %q: %v", from, err)
			continue
		}
		f, err := Open(folder)
		if err != nil {
			t.Errorf("from %q: %v", from, err)
			continue
		}
		// the reference of a copy calls the same operations of torch, with the same faults
		if o, err := catalog.Get(from); err == nil {
			same := func(a, b op.Finding) bool { return a.ID == b.ID }
			if !slices.EqualFunc(f.Findings, o.Findings, same) {
				t.Errorf("from %q: findings %d, want %d", from, len(f.Findings), len(o.Findings))
			}
		}
		if f.Spec.Name != "my_op" || f.CUDA == "" {
			t.Errorf("from %q: %+v", from, f)
		}
		if !f.Registers {
			plain = append(plain, from)
			readsAsALearners(t, f)
		}
		if err := Create(folder, from, triad.Files); err == nil ||
			!strings.Contains(err.Error(), "it is there already") {
			t.Errorf("from %q, a second time: %v", from, err)
		}
	}
	const least = 38 // all but quantize_fp8, and what has joined since
	if len(plain) < least {
		t.Errorf("a learner's kernel is copied from %d operators, want %d: %v", len(plain), least, plain)
	}
}

// readsAsALearners fails where the files of a folder use what only triad's own files know, or are wide.
func readsAsALearners(t *testing.T, f *Folder) {
	t.Helper()
	for _, file := range []string{f.CUDA, f.Python, strings.TrimSuffix(f.Python, ".py") + ".toml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, own := range []string{
			".cuh\"", "INTERPRETED", "DENSE", "triton.jit", "TRIAD_KERNEL", "also_called",
		} {
			if strings.Contains(string(text), own) {
				t.Errorf("%s has %s", file, own)
			}
		}
	}
}

// TestStarterWidth: the lines of the small operator have at most 100 columns.
func TestStarterWidth(t *testing.T) {
	for _, ending := range []string{".toml", ".cu", ".py"} {
		text, err := starter.ReadFile("starter/starter" + ending)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(strings.ReplaceAll(string(text), "\t", "    ")) {
			if len(strings.TrimSuffix(line, "\n")) > 100 {
				t.Errorf("starter%s: %s", ending, line)
			}
		}
	}
}

// TestOpenRefuses: a folder that cannot be judged is rejected with the fix.
func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct{ file, old, new, says string }{
		{
			"my_op.py", "def reference(", "def formula(",
			"has no function reference: want def reference(x, weight, *, eps)",
		},
		{"my_op.toml", `name = "my_op"`, `name = "other"`, `want "my_op", the stem of the file`},
		{"my_op.toml", `["x", "weight", "grad_y"]`, `["x", "grad_y"]`, "backward.inputs leaves out an input"},
		{
			"my_op.toml", `{ fp32 = "fp32"`, `{ fp32 = "p16"`,
			`contract "p16" belongs to operators whose error bound is written by hand`,
		},
		{
			"my_op.toml", "formula =", "findings = \"convolve\"\nformula =",
			`findings = "convolve": unknown operator "convolve"`,
		},
		{
			"my_op.toml", "formula =", "findings = \"conv1d\"\nformula =",
			`findings = "conv1d": those of conv1d do not fit this spec: read findings internal/catalog/`,
		},
	} {
		folder := filepath.Join(t.TempDir(), "my_op")
		if err := Create(folder, "", triad.Files); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(folder, c.file)
		text, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(text), c.old) {
			t.Fatalf("%s holds no %q: %v", c.file, c.old, err)
		}
		if err := os.WriteFile(path, []byte(strings.ReplaceAll(string(text), c.old, c.new)),
			0o644); err != nil {
			t.Fatal(err)
		}
		_, err = Open(folder)
		var u *op.UsageError
		if !errors.As(err, &u) || !strings.Contains(u.Message, c.says) {
			t.Errorf("%s with %q: %v, want %q", c.file, c.new, err, c.says)
		}
	}
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(),
		"the folder holds no .toml") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestIsFolder(t *testing.T) {
	for word, want := range map[string]bool{
		"softmax": false, "./softmax": true, ".": true, "..": true,
		"my_op.toml": true, "": false,
	} {
		if IsFolder(word) != want {
			t.Errorf("%q: %v, want %v", word, !want, want)
		}
	}
}
