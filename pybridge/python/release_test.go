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
)

// TestRelease makes the wheels of a release and uses each as a user would: installed into a new environment, the command compares a kernel where there
// is a C++ compiler and no Go. TRIAD_TEST_PYTHONS names the interpreters, python3 alone where it is not set.
func TestRelease(t *testing.T) {
	if os.Getenv("TRIAD_TEST_SETUP") == "" {
		t.Skip("pip fetches what the build needs: make test does it")
	}
	pythons := strings.Fields(os.Getenv("TRIAD_TEST_PYTHONS"))
	if len(pythons) == 0 {
		pythons = []string{"python3"}
	}
	dist := filepath.Join(t.TempDir(), "dist")
	output(t, append([]string{"python3", "../../release/wheels.py", "--dist", dist}, pythons...)...)
	sumsHold(t, dist)
	for _, python := range pythons {
		t.Run(python, func(t *testing.T) {
			tag := "cp" + output(t, python, "-c", "import sys; print('%d%d' % sys.version_info[:2])")
			wheels, err := filepath.Glob(filepath.Join(dist, "triad-*-"+tag+"-"+tag+"-manylinux*.whl"))
			if err != nil || len(wheels) != 1 {
				t.Fatalf("wheels for %s: %v, %v: want one", tag, wheels, err)
			}
			venv := filepath.Join(t.TempDir(), "venv")
			output(t, python, "-m", "venv", venv)
			bin := filepath.Join(venv, "bin")
			outputIn(t, "PATH="+t.TempDir(), filepath.Join(bin, "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", wheels[0])
			// Only what lies in the environment, in a new home, and what compiles C++ is there.
			cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "triad"), "compare", "softmax", "--impl", "cuda/block,cuda/vec", "--quick", "--dtype", "fp32")
			cmd.Dir = t.TempDir()
			cmd.Env = []string{"PATH=" + compilersAlone(t), "HOME=" + t.TempDir(), "LANG=C.UTF-8", "LD_LIBRARY_PATH=" + os.Getenv("LD_LIBRARY_PATH")}
			out, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(out), "Exit 0: nothing is wrong.") || !strings.Contains(string(out), "cuda/vec") {
				t.Errorf("triad compare of the installed wheel: %v\n%s", err, out)
			}
			code := "import triad; print(triad.op('softmax').name, len(triad.cases('softmax', level='quick')) > 0)"
			if got := output(t, filepath.Join(bin, "python"), "-I", "-c", code); got != "softmax True" {
				t.Errorf("the native part of the installed wheel says %s", got)
			}
		})
	}
}

// sumsHold checks every file of a release against SHA256SUMS, which names them all.
func sumsHold(t *testing.T, dist string) {
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
	if got, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS")); err != nil || string(got) != want.String() {
		t.Errorf("SHA256SUMS %v\n%swant\n%s", err, got, want.String())
	}
	for _, name := range []string{"Dockerfile", "CHANGELOG.md", "LICENSE"} {
		if !strings.Contains(want.String(), "  "+name+"\n") {
			t.Errorf("no %s in the release", name)
		}
	}
}

// compilersAlone is a folder with g++ and what it starts, and nothing else: no Go, no Python.
func compilersAlone(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, name := range []string{"g++", "as", "ld"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Skipf("no %s on the PATH: apt-get install g++", name)
		}
		if err := os.Symlink(path, filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// A release for which a Python is missing is not made, and every one that is missing is named, with what to do.
func TestReleaseNamesMissingPythons(t *testing.T) {
	dist := filepath.Join(t.TempDir(), "dist")
	cmd := exec.CommandContext(t.Context(), "python3", "../../release/wheels.py", "--dist", dist, "python3.99", "/nowhere/python3")
	out, err := cmd.CombinedOutput()
	for _, want := range []string{"python3.99: No such file or directory", "/nowhere/python3: No such file or directory", "PYTHONS=", "docker build"} {
		if err == nil || !bytes.Contains(out, []byte(want)) {
			t.Errorf("%v, want %q in\n%s", err, want, out)
		}
	}
	if _, err := os.Stat(dist); !os.IsNotExist(err) {
		t.Errorf("%s was made: %v", dist, err)
	}
}
