package pybridge

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"triad/internal/need"
	"triad/internal/worker"
)

// TestForkedWorkerConforms: a worker that the parent forks keeps the promises of every backend: its output,
// its death and its killing look as if it had been started.
func TestForkedWorkerConforms(t *testing.T) {
	e := &Environment{Files: withOperator(t, "scale"), DataDir: need.DataDir(t), Offline: true}
	if _, err := e.Find(t.Context()); err != nil {
		need.MissingSetUp(t, err)
	}
	folder, cache := t.TempDir(), t.TempDir()
	text, err := os.ReadFile(filepath.Join("testdata", "scale.py"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "scale.py"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	parent := &Parent{}
	t.Cleanup(func() {
		if err := parent.Close(); err != nil {
			t.Error(err)
		}
	})
	conforms(t, nil, func(o worker.Options) *worker.Adapter {
		return OwnBackend(e, cache, folder, o, parent)
	})
	if parent.process == nil || parent.process.Reaped() {
		t.Error("no parent forked them")
	}
}

// TestWithoutParent: if the parent has ended, a worker imports torch itself.
func TestWithoutParent(t *testing.T) {
	e := &Environment{Files: withOperator(t, "scale"), DataDir: need.DataDir(t), Offline: true}
	if _, err := e.Find(t.Context()); err != nil {
		need.MissingSetUp(t, err)
	}
	parent := &Parent{}
	plain := worker.Command{Path: "/bin/true", Args: []string{"-u", "-X", "x", "/none/worker.py", "dir"}}
	parent.forked(plain)
	if !parent.process.Wait(time.Minute) { // /bin/true ends at once
		t.Fatal("the parent lives")
	}
	if c := parent.forked(plain); c.Boxed || len(c.Files) != 0 || len(c.Args) != len(plain.Args) {
		t.Errorf("%+v", c)
	}
	if err := parent.Close(); err != nil {
		t.Error(err)
	}
}

// TestAhead: the process that was started in the likely Python is kept if the workers have the same one, and
// replaced if they do not.
func TestAhead(t *testing.T) {
	sleeping := filepath.Join(t.TempDir(), "python") // ends with its end of the socket, as forked.py does
	script := "#!/bin/sh\nexec cat <&3 >/dev/null\n"
	if err := os.WriteFile(sleeping, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	e := &Environment{Files: fstest.MapFS{}, Getenv: func(name string) string {
		return map[string]string{"TRIAD_PYTHON": sleeping}[name]
	}}
	for _, workers := range []string{sleeping, "/bin/true"} {
		parent := &Parent{}
		parent.ahead(e, t.TempDir())
		began := parent.process
		if began == nil || parent.python != sleeping {
			t.Fatalf("began in %q", parent.python)
		}
		parent.forked(worker.Command{
			Path: workers, Args: []string{"-u", "-X", "x", "/none/worker.py", "dir"},
		})
		if stays := workers == sleeping; (parent.process == began) != stays || began.Reaped() == stays {
			t.Errorf("workers in %s: the same process %v, ended %v", workers, parent.process == began,
				began.Reaped())
		}
		if err := parent.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestBorrowedParent: workers of the lender's Python are forked, those of another import torch themselves.
func TestBorrowedParent(t *testing.T) {
	lender := &Parent{}
	ask, err := lender.Lend(&Environment{Files: withOperator(t, "scale")}, t.TempDir(), "/bin/true")
	if err != nil {
		t.Fatal(err)
	}
	borrowed := BorrowParent(ask, "/bin/true")
	for python, forks := range map[string]bool{"/bin/true": true, "/bin/false": false} {
		c := borrowed.forked(worker.Command{
			Path: python, Args: []string{"-u", "-X", "x", "/none/worker.py", "dir"},
		})
		if c.Boxed != forks || forks && (len(c.Files) != 1 || c.Files[0] != ask) {
			t.Errorf("%s: %+v", python, c)
		}
	}
	if err := errors.Join(borrowed.Close(), lender.Close()); err != nil {
		t.Error(err)
	}
}
