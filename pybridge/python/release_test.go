package python

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/need"
)

// testCommand installs a wheel into a new environment and uses it as its user would: the command compares a
// kernel with only a C++ compiler, without Go, in a new home.
func testCommand(t *testing.T, python, wheel string) {
	t.Helper()
	venv := filepath.Join(t.TempDir(), "venv")
	output(t, python, "-m", "venv", venv)
	bin := filepath.Join(venv, "bin")
	outputIn(t, "PATH="+t.TempDir(), filepath.Join(bin, "python"), "-m", "pip", "install", "--quiet",
		"--disable-pip-version-check", "--no-index", wheel)
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "triad"), "compare", "relu", "--impl",
		"cuda/naive,cuda/vec", "--quick", "--dtype", "fp32")
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"PATH=" + compilerAlone(t), "HOME=" + t.TempDir(), "LANG=C.UTF-8", "LD_LIBRARY_PATH=" +
		os.Getenv("LD_LIBRARY_PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "Exit 0: nothing is wrong.") ||
		!strings.Contains(string(out), "cuda/vec") {
		t.Errorf("triad compare of the installed wheel: %v\n%s", err, out)
	}
	code := "import triad; print(triad.op('softmax').name, len(triad.cases('softmax', level='quick')) > 0)"
	if got := output(t, filepath.Join(bin, "python"), "-I", "-c", code); got != "softmax True" {
		t.Errorf("the native part of the installed wheel says %s", got)
	}
}

// sumsHold checks every file of a release against SHA256SUMS, which names them all.
func sumsHold(t testing.TB, dist string) {
	t.Helper()
	var want strings.Builder
	entries, err := os.ReadDir(dist)
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		if entry.Name() == "SHA256SUMS" {
			continue
		}
		content, err := os.ReadFile(filepath.Join(dist, entry.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&want, "%x  %s\n", sha256.Sum256(content), entry.Name())
	}
	if got, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS")); err != nil ||
		string(got) != want.String() {
		t.Errorf("SHA256SUMS %v\n%swant\n%s", err, got, want.String())
	}
	for _, name := range []string{"Dockerfile", "CHANGELOG.md", "LICENSE"} {
		if !strings.Contains(want.String(), "  "+name+"\n") {
			t.Errorf("no %s in the release", name)
		}
	}
}

// compilerAlone returns a folder with g++ and the programs that it starts, and nothing else: no Go, no
// Python.
func compilerAlone(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"g++", "as", "ld"} {
		if err := os.Symlink(need.Tool(t, name), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// A release for which a Python is missing is not made, and every one that is missing is named, with what to
// do.
func TestReleaseNamesMissingPythons(t *testing.T) {
	dist := filepath.Join(t.TempDir(), "dist")
	cmd := exec.CommandContext(t.Context(), need.Tool(t, "python3"), "../../release/wheels.py", "--dist",
		dist, "python3.99", "/nowhere/python3")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{
		"python3.99: No such file or directory",
		"/nowhere/python3: No such file or directory", "PYTHONS=", "docker build",
	} {
		if err == nil || !bytes.Contains(out, []byte(want)) {
			t.Errorf("%v, want %q in\n%s", err, want, out)
		}
	}
	if _, err := os.Stat(dist); !os.IsNotExist(err) {
		t.Errorf("%s was made: %v", dist, err)
	}
}
