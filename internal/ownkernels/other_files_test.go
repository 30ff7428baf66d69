package ownkernels

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A file is built together with those that define what it calls, but not with one whose functions it defines
// itself.
func TestOtherFiles(t *testing.T) {
	folder := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own := "void scale(float *x, int n);\nstatic int half(int n) { return n / 2; }\n" +
		"void solve(float *x, int n) { scale(x, half(n)); }\n"
	path := write("solve.cu", own)
	write("a_clash.cu",
		"static int half(int n) { return n; }\nvoid scale(float *x, int n) { x[half(n)] = 0; }\n")
	write("csrc/scale.cu", "void scale(float *x, int n) { x[n] = 0; }\n")
	f := &File{Path: path}
	f.withOtherFiles([]byte(own))
	if len(f.others) != 1 || filepath.Base(f.others[0]) != "scale.cu" ||
		!strings.Contains(f.inline, "#include \"csrc/scale.cu\"") {
		t.Errorf("built together with %v:\n%s", f.others, f.inline)
	}
	if beside, err := Beside(path); err != nil || len(beside) != 1 || beside[0] != f.others[0] {
		t.Errorf("beside it: %v, %v", beside, err)
	}
	// a file that is too large to be searched is left out
	if err := os.Truncate(filepath.Join(folder, "csrc/scale.cu"), mostNearBytes+1); err != nil {
		t.Fatal(err)
	}
	without := &File{Path: path}
	without.withOtherFiles([]byte(own))
	if len(without.others) > 0 || without.inline != "" {
		t.Errorf("built together with %v, the text of which is too large", without.others)
	}
	alone := &File{Path: path}
	alone.withOtherFiles([]byte(strings.ReplaceAll(own, "scale", "stretch")))
	if len(alone.others) > 0 || alone.inline != "" {
		t.Errorf("built together with %v, which lack what it calls", alone.others)
	}
}
