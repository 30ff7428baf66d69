// Package python has no code: the Go side of the Python package is pybridge/native. Here its tests are
// started.
package python

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"triad"
	"triad/internal/need"
	"triad/pybridge"
)

// packageInputs lists the sources of the package.
var packageInputs = []string{
	"pybridge/python", "pybridge/native", "pybridge/operators", "pybridge/worker", "release",
}

// documents lists the scripts that run the examples of the documents.
var documents = []string{"pybridge/python/tests/notebook.py", inline}

const inline = "pybridge/python/tests/inline.py"

// TestPackage builds the package by pip, only once since that takes a minute, installs it into a clean
// virtual environment, as a user would, and runs its tests there. The other checks of a wheel, and the
// documents, are not in the fast tier. If there is a Python with torch, the environment sees its packages,
// and the PyTorch operators and the notebook are tested too.
func TestPackage(t *testing.T) {
	p := &installed{whole: t}
	t.Run("wheel", func(t *testing.T) {
		need.Covers(t, "", packageInputs...)
		t.Parallel()
		p.make(t)
		testWheel(t, p.wheel)
		testCommand(t, p.python, p.wheel)
	})
	for _, other := range strings.Fields(os.Getenv("TRIAD_TEST_PYTHONS")) {
		// make test-long: all that a release is for
		t.Run("wheel for "+other, func(t *testing.T) {
			need.Covers(t, "", packageInputs...)
			if err := exec.Command(other, "-c", "").Run(); err != nil {
				need.Missing(t, fmt.Sprintf("no %s (%v): install it, or name others with PYTHONS", other,
					err))
			}
			testCommand(t, other, buildWheel(t, other))
		})
	}
	// Two in parallel: the tests, one after another, and the documents, which wait for downloads and
	// compilers.
	t.Run("tests", func(t *testing.T) {
		t.Parallel()
		p.runTests(t)
	})
	t.Run("documents", func(t *testing.T) {
		need.Covers(t, "", slices.Concat(packageInputs, documents)...)
		t.Parallel()
		p.make(t)
		p.torch.needed(t)
		// In an environment of its own: the other tests must not have the notebook's packages, such as
		// pandas.
		apart := filepath.Join(t.TempDir(), "apart")
		output(t, p.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-compile",
			"--no-deps", "--require-hashes", "--target", apart, "-r", "tests/requirements.txt")
		for _, script := range documents {
			if script == inline && !need.Chosen(t, script, "", script) {
				continue // torch's headers take a compiler a minute
			}
			script = strings.TrimPrefix(script, "pybridge/python/")
			cmd := exec.CommandContext(t.Context(), p.python, script)
			cmd.Env = append(os.Environ(), "PYTHONPATH="+apart, "PATH="+filepath.Join(apart, "bin")+
				string(os.PathListSeparator)+os.Getenv("PATH"))
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Errorf("%s: %v", script, err)
			}
		}
	})
}

// installed is a clean environment with the package in it, made when the first case needs it.
type installed struct {
	whole  *testing.T // TestPackage, which the folders of both outlive its cases with
	once   sync.Once
	wheel  string
	python string
	torch  torchHere
}

// lasting is a subtest whose temporary folders last for the whole test.
type lasting struct {
	testing.TB
	whole *testing.T
}

func (l lasting) TempDir() string { return l.whole.TempDir() }

func (p *installed) make(t *testing.T) {
	t.Helper()
	toBuildWith(t) // skips this case if there is none
	p.once.Do(func() {
		here := lasting{t, p.whole}
		p.python = environment(here)
		wheel := buildWheel(here, p.python)
		output(here, p.python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
		p.torch = lend(here, p.python)
		p.wheel = wheel
	})
	if p.wheel == "" {
		t.Fatal("the package is not installed")
	}
}

// runTests runs every file of tests in an environment that has the package.
func (p *installed) runTests(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("tests/test_*.py")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests of the package: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			key := ""
			if filepath.Base(file) == "test_files.py" { // without these nothing of it works
				key = "the operators' files"
			}
			need.Covers(t, key, append(packageInputs, "triton", "pybridge/tests")...)
			p.make(t)
			if base := filepath.Base(file); base != "test_package.py" && base != "test_imports.py" {
				p.torch.needed(t)
			}
			if filepath.Base(file) == "test_gpu.py" && !driver() { // it skips itself too, seconds later
				need.GPU(t, "no driver is here")
			}
			cmd := exec.CommandContext(t.Context(), p.python, "-m", "unittest", "-v", filepath.Base(file))
			cmd.Dir = "tests"
			cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "TORCHINDUCTOR_VEC_ISA_OK=0")
			out, err := cmd.CombinedOutput()
			t.Logf("%s", out)
			if err != nil {
				t.Error(err)
			}
			need.Unittest(t, string(out))
		})
	}
}

// driver reports whether a GPU driver is visible, that of Linux or that of Windows (WSL).
func driver() bool {
	for _, device := range []string{"/dev/nvidiactl", "/dev/dxg"} {
		if _, err := os.Stat(device); err == nil {
			return true
		}
	}
	return false
}

// testWheel checks that the wheel installs without Go and a compiler, contains the program, and is refused by
// a Python that it is not for.
func testWheel(t *testing.T, wheel string) {
	clean := environment(t)
	nothing := "PATH=" + t.TempDir()
	outputIn(t, nothing, clean, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
		"--no-index", wheel)
	code := "import triad, subprocess; said = subprocess.run([triad.binary(), 'version'], " +
		"capture_output=True, text=True).stdout.split(); " +
		"print(said[1] == triad.__version__, len(triad.ops()) > 5, len(triad.case('softmax', dims={'rows': " +
		"1, 'cols': 1}).key) > 0); " +
		"import pathlib; here = pathlib.Path(triad.__file__).parent; " +
		"licences = (here / 'THIRD_PARTY_LICENSES.txt').read_text(); " +
		"print('Apache License' in (here / 'LICENSE').read_text(), 'spf13/cobra' in licences, " +
		"'downloading' not in licences); " +
		"import json; print(len(json.loads((here / '_operators' / 'catalogue.json').read_text())) > 5)"
	if got := outputIn(t, nothing, clean, "-I", "-c", code); strings.Join(strings.Fields(got),
		" ") != "True True True True True True True" {
		t.Errorf("the installed wheel says %s", got)
	}
	other := exec.CommandContext(t.Context(), clean, "-m", "pip", "install", "--disable-pip-version-check",
		"--no-index", "--no-deps", "--only-binary=:all:",
		"--python-version", "3.9", "--target", t.TempDir(), wheel)
	if out, err := other.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "is not a supported wheel on this platform") {
		t.Errorf("installed for another Python: %v\n%s", err, out)
	}
}

// buildWheel makes a release for one Python, with a chatty go, and returns the path of its wheel.
func buildWheel(t testing.TB, python string) string {
	t.Helper()
	dist := filepath.Join(t.TempDir(), "dist")
	outputIn(t, "GO="+chattyGo(t), "python3", "../../release/wheels.py", "--dist", dist, python)
	sumsHold(t, dist)
	tag := "cp" + output(t, python, "-c", "import sys; print('%d%d' % sys.version_info[:2])")
	wheels, err := filepath.Glob(filepath.Join(dist, "triad-"+triad.Version+"-"+tag+"-"+tag+
		"-manylinux*.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatalf("wheels for %s: %v, %v: want one", tag, wheels, err)
	}
	return wheels[0]
}

// chattyGo returns a go that prints to stderr what the real one prints there with an empty module cache.
func chattyGo(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "go")
	text := "#!/bin/sh\necho 'go: downloading github.com/pkg/errors v0.9.1' >&2\nexec go \"$@\"\n"
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// BenchmarkOverhead prints what an operator in Python adds to the launch of its kernel.
func BenchmarkOverhead(b *testing.B) {
	clean := environment(b)
	output(b, clean, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", buildWheel(b, clean))
	lend(b, clean).needed(b)
	b.Log(output(b, clean, "tests/overhead.py"))
}

// environment makes a virtual environment in which the package can be built, and returns its Python.
func environment(t testing.TB) string {
	t.Helper()
	venv := filepath.Join(t.TempDir(), "venv")
	output(t, toBuildWith(t), "-m", "venv", venv)
	return filepath.Join(venv, "bin", "python")
}

// toBuildWith returns a Python of this machine that can build the package.
func toBuildWith(t testing.TB) string {
	t.Helper()
	if !need.SetUp() {
		t.Skip("pip fetches PyBindGen for the build: run make test, or set TRIAD_TEST_SETUP")
	}
	python := need.Tool(t, "python3")
	headers := output(t, python, "-c",
		"import os, sysconfig; print(os.path.exists(os.path.join(sysconfig.get_paths()['include'], "+
			"'Python.h')))")
	if headers != "True" {
		need.Missing(t, python+" has no headers: apt-get install python3-dev")
	}
	if err := exec.Command(python, "-c", "import venv, ensurepip").Run(); err != nil {
		need.Missing(t, python+" makes no virtual environments: apt-get install python3-venv")
	}
	return python
}

// torchHere is the reason why an environment has no torch; "" if it has.
type torchHere string

// needed reports torch as missing to a test that needs it.
func (why torchHere) needed(t testing.TB) {
	t.Helper()
	if why != "" {
		need.Missing(t, string(why))
	}
}

// lend lets the environment see the packages of the interpreter that triad's workers use, if there is one of
// the same version.
func lend(t testing.TB, clean string) torchHere {
	t.Helper()
	e := &pybridge.Environment{Files: triad.Files, DataDir: need.DataDir(t), Offline: true}
	i, err := e.Find(t.Context())
	if err != nil {
		return torchHere(err.Error())
	}
	version := "import sys; print('%d.%d' % sys.version_info[:2])"
	if theirs, ours := output(t, i.Path, "-c", version), output(t, clean, "-c", version); theirs != ours {
		return torchHere(fmt.Sprintf("torch is in Python %s (%s), the package is for %s: run triad setup "+
			"with Python %s first on the PATH", theirs, i.Path, ours, ours))
	}
	purelib := "import sysconfig; print(sysconfig.get_paths()['purelib'])"
	lent := output(t, i.Path, "-c", purelib) + "\n"
	if err := os.WriteFile(filepath.Join(output(t, clean, "-c", purelib), "lent.pth"), []byte(lent),
		0o644); err != nil {
		t.Fatal(err)
	}
	return ""
}

// output runs a command that must succeed and returns its stdout.
func output(t testing.TB, command ...string) string {
	t.Helper()
	return outputIn(t, "", command...)
}

// outputIn is output with one more variable of the environment, NAME=VALUE.
func outputIn(t testing.TB, variable string, command ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	if variable != "" {
		cmd.Env = append(os.Environ(), variable)
	}
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(command, " "), err, &out, &log)
	}
	return strings.TrimSpace(out.String())
}
