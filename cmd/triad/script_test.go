package main

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"triad"
)

// TestMain lets scripts run triad itself: this binary under another name, so that it can start itself as a worker.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"triad": func() {
			a := newApp(os.Stdin, os.Stdout, os.Stderr)
			if dir := os.Getenv("TRIAD_TEST_OVERLAY"); dir != "" {
				a.files, a.passed = overlay{os.DirFS(dir), triad.Files}, []string{"TRIAD_TEST_OVERLAY"}
			}
			os.Exit(int(a.execute(os.Args[1:])))
		},
	})
}

// overlay shows the files of above where they are there, else those of below: a script plants its own kernels over the product's.
type overlay struct{ above, below fs.FS }

func (o overlay) Open(name string) (fs.File, error) {
	if f, err := o.above.Open(name); err == nil {
		if info, err := f.Stat(); err == nil && !info.IsDir() {
			return f, nil
		}
		f.Close()
	}
	return o.below.Open(name)
}

// Each verb tells its story in testdata/script.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			// A home of its own, but the libraries that were built once: a script is about triad, not about g++.
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_DATA_HOME", filepath.Join(e.WorkDir, "data"))
			e.Setenv("XDG_CACHE_HOME", sharedCache(t))
			e.Setenv("TRIAD_TEST_PYTHON", os.Getenv("TRIAD_TEST_PYTHON"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "g++":
				_, err := exec.LookPath("g++")
				return err == nil, nil
			case "python":
				return os.Getenv("TRIAD_TEST_PYTHON") != "", nil
			}
			return false, errors.New("unknown condition " + name)
		},
	})
}

func sharedCache(t *testing.T) string {
	base, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// exits N COMMAND...: the command must end with exit code N.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
