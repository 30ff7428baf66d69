package pybridge

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"triad"
	"triad/internal/need"
)

// TestPython runs the Python side's own tests and those of the operators' rows, each file in a process of its
// own, with the interpreter that triad would use.
func TestPython(t *testing.T) {
	e := &Environment{Files: triad.Files, DataDir: need.DataDir(t), Offline: true}
	i, err := e.Find(t.Context())
	if err != nil {
		need.MissingSetUp(t, err)
	}
	var files []string
	for _, pattern := range []string{"tests/test_*.py", "../internal/catalog/*/test_*.py"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("no Python tests %s: %v", pattern, err)
		}
		files = append(files, found...)
	}
	tests, err := filepath.Abs("tests")
	if err != nil {
		t.Fatal(err)
	}
	if cutile := e.HaveCutile(i); cutile != "" {
		t.Setenv("TRIAD_CUTILE", cutile)
	}
	python := startForked(t, i.Path, tests)
	for _, file := range files {
		name := filepath.Base(file)
		if folder := filepath.Base(filepath.Dir(file)); folder != "tests" {
			name = folder + "/" + name // of an operator's room
		}
		t.Run(name, func(t *testing.T) {
			out, err := python.run(t, file)
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			need.Unittest(t, out)
		})
	}
}

// forked is Python that runs files of tests in children of one process: tests/forked.py.
type forked struct {
	asks    io.Writer
	answers *bufio.Scanner
	log     string
}

func startForked(t *testing.T, python, tests string) *forked {
	t.Helper()
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(python, filepath.Join(tests, "forked.py")) // which ends with its standard input
	cmd.Env = append(os.Environ(), "PYTHONPATH="+tests, "TRIAD_DEVICE=cpu",
		"TORCHINDUCTOR_VEC_ISA_OK=0", "OPENBLAS_NUM_THREADS=1", "OMP_NUM_THREADS=1",
		"PYTHONDONTWRITEBYTECODE=1",
		"TORCHINDUCTOR_CACHE_DIR="+filepath.Join(cache, "triad", "inductor"))
	cmd.Stderr = os.Stderr
	asks, errIn := cmd.StdinPipe()
	answers, errOut := cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut, cmd.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(asks.Close(), cmd.Wait()); err != nil {
			t.Errorf("Python, which runs the tests: %v", err)
		}
	})
	return &forked{asks: asks, answers: bufio.NewScanner(answers), log: filepath.Join(t.TempDir(), "log")}
}

// run returns the output of the tests of a file.
func (f *forked) run(t *testing.T, file string) (string, error) {
	t.Helper()
	file, err := filepath.Abs(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(f.asks, "%s\t%s\n", file, f.log); err != nil {
		t.Fatal(err)
	}
	if !f.answers.Scan() {
		t.Fatalf("Python ended while it ran the tests: %v", f.answers.Err())
	}
	out, err := os.ReadFile(f.log)
	if code := f.answers.Text(); code != "0" {
		err = errors.Join(err, fmt.Errorf("exit %s", code))
	}
	return string(out), err
}
