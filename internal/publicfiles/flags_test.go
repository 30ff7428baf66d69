package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Flags are split at blanks outside of quotes; lines above functions are no flags.
func TestSplitFlags(t *testing.T) {
	for _, c := range []struct {
		flags        string
		words, lines []string
		fails        bool
	}{
		{flags: "--map n=rows --dims rows=1", words: []string{"--map", "n=rows", "--dims", "rows=1"}},
		{flags: `--grid "ceildiv(n, 16), m"  --map n=n`, words: []string{
			"--grid", "ceildiv(n, 16), m", "--map", "n=n",
		}},
		{flags: `--shared ""`, words: []string{"--shared", ""}},
		{flags: "// triad: relu(x=a, y=b) | // triad: relu(x=c, y=d)", lines: []string{
			"// triad: relu(x=a, y=b)", "// triad: relu(x=c, y=d)",
		}},
		{flags: `--grid "n`, fails: true},
		{flags: ""},
	} {
		words, lines, err := splitFlags(c.flags)
		if !slices.Equal(words, c.words) || !slices.Equal(lines, c.lines) || (err != nil) != c.fails {
			t.Errorf("%s: %q, %q, %v", c.flags, words, lines, err)
		}
	}
}

// The flags of every entry of the manifest can be given again.
func TestFlagsOfTheManifest(t *testing.T) {
	_, files := manifest(t)
	for _, f := range files {
		if _, _, err := splitFlags(f.flags); err != nil {
			t.Errorf("%s: %s: %v", f.path, f.flags, err)
		}
	}
}

// A line stands above the function whose parameters it names, in a copy: of two functions alike, the second
// line above the second.
func TestLinesInACopy(t *testing.T) {
	const text = "__global__ void other(float* p) {}\n__global__ void f(float* a, float* b) {}\n" +
		"__global__ void g(float* a, float* b) {}\n"
	sum := sha256.Sum256([]byte(text))
	f := &public{repository: "o/n", path: "b/a.cu", operator: "x", sha256: hex.EncodeToString(sum[:])}
	a := asker{folder: t.TempDir()}
	if err := os.MkdirAll(filepath.Dir(a.place(f)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.place(f), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	there, remove, err := a.withLines(f, []string{"// triad: relu(x=a, y=b)", "// triad: relu(y=a, x=b)"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(there.place(f))
	want := strings.NewReplacer("__global__ void f", "// triad: relu(x=a, y=b)\n__global__ void f",
		"__global__ void g", "// triad: relu(y=a, x=b)\n__global__ void g").Replace(text)
	if err != nil || string(got) != want || !a.isThere(f) {
		t.Errorf("%v\n%s", err, got)
	}
	remove()
	if _, err := os.Stat(there.folder); !os.IsNotExist(err) {
		t.Errorf("the copy stays: %v", err)
	}
	if _, err := above("a.cu", text, []string{"// triad: relu(x=z)"}); err == nil {
		t.Error("a line that fits no function stands somewhere")
	}
}
