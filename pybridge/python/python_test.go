// Package python has no code: the Go side of the Python package is pybridge/native. Here its tests are started.
package python

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"triad"
	"triad/pybridge"
)

// TestPackage installs the package by pip into a clean virtual environment, as a user would, and runs its tests there. Where a Python with
// torch is here, the environment sees its packages, and the PyTorch operators are tested too.
func TestPackage(t *testing.T) {
	if os.Getenv("TRIAD_TEST_SETUP") == "" {
		t.Skip("pip fetches PyBindGen for the build: make test does it")
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on the PATH")
	}
	headers := output(t, python, "-c", "import os, sysconfig; print(os.path.exists(os.path.join(sysconfig.get_paths()['include'], 'Python.h')))")
	if headers != "True" {
		t.Skipf("%s has no headers: install its development package (python3-dev)", python)
	}
	if out, err := exec.Command(python, "-c", "import venv, ensurepip").CombinedOutput(); err != nil {
		t.Skipf("%s makes no virtual environments: %s", python, out)
	}
	venv := filepath.Join(t.TempDir(), "venv")
	output(t, python, "-m", "venv", venv)
	clean := filepath.Join(venv, "bin", "python")
	output(t, clean, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", ".")
	torch := lend(t, clean)
	files, err := filepath.Glob("tests/test_*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of the package: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), clean, "-m", "unittest", "-v", filepath.Base(file))
			cmd.Dir = "tests"
			cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "TORCHINDUCTOR_VEC_ISA_OK=0")
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
		})
	}
	t.Run("notebook", func(t *testing.T) {
		if !torch {
			t.Skip("no torch for this Python")
		}
		output(t, clean, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes", "-r", "tests/requirements.txt")
		t.Log(output(t, clean, "tests/notebook.py"))
	})
}

// lend lets the environment see the packages of the interpreter that triad's workers use, if there is one of the same version, and says whether.
func lend(t *testing.T, clean string) bool {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	data := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(data) {
		data = filepath.Join(home, ".local", "share")
	}
	e := &pybridge.Environment{Files: triad.Files, DataDir: filepath.Join(data, "triad"), Offline: true}
	i, err := e.Find(t.Context())
	if err != nil {
		t.Logf("the PyTorch operators are not tested: %v", err)
		return false
	}
	version := "import sys; print('%d.%d' % sys.version_info[:2])"
	if theirs, ours := output(t, i.Path, "-c", version), output(t, clean, "-c", version); theirs != ours {
		t.Logf("the PyTorch operators are not tested: torch is in Python %s, the package is for %s", theirs, ours)
		return false
	}
	purelib := "import sysconfig; print(sysconfig.get_paths()['purelib'])"
	lent := output(t, i.Path, "-c", purelib) + "\n"
	if err := os.WriteFile(filepath.Join(output(t, clean, "-c", purelib), "lent.pth"), []byte(lent), 0o644); err != nil {
		t.Fatal(err)
	}
	return true
}

func output(t *testing.T, command ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), command[0], command[1:]...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}
