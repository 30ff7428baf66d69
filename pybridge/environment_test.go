package pybridge

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"triad/internal/backend"
	"triad/internal/need"
)

// fakePython is a fake interpreter: it answers the probe from the file "versions" next to it, makes
// environments that are copies of itself, and "installs" by writing that file. FAKE_PIP selects how the
// installation fails.
const fakePython = `#!/bin/sh
here=$(dirname "$0")
case "$*" in
*"-m venv"*)
	for dir; do :; done
	mkdir -p "$dir/bin" && cp "$0" "$dir/bin/python" ;;
*"-m pip"*)
	echo run >> "$FAKE_LOG"
	all="$*"
	while [ $# -gt 0 ]; do
		if [ "$1" = --target ]; then mkdir -p "$2" && echo "$all" > "$2/arguments" && exit 0; fi
		shift
	done
	case "$FAKE_PIP" in
	full)
		echo "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device" >&2
		exit 1
		;;
	slow) sleep 60 ;;
	esac
	sleep 0.3
	echo '{"version": "3.11.7", "torch": "2.11.0", "triton": "3.6.0", "numpy": "2.3.5"}' > "$here/versions" ;;
*"import venv"*) exit 0 ;;
*)
	if [ -f "$here/versions" ]; then
		cat "$here/versions"
	else
		echo '{"version": "3.11.7", "torch": "", "triton": "", "numpy": ""}'
	fi
	;;
esac
`

// fakeEnvironment returns an Environment on a machine whose only python3 is the fake one.
func fakeEnvironment(t *testing.T) (*Environment, *bytes.Buffer) {
	t.Helper()
	folder := t.TempDir()
	write(t, filepath.Join(folder, "python3"), fakePython)
	for _, tool := range []string{"sh", "cat", "cp", "dirname", "mkdir", "sleep"} {
		// and no uv, whatever is installed here
		if err := os.Symlink(need.Tool(t, tool), filepath.Join(folder, tool)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", folder)
	t.Setenv("FAKE_LOG", filepath.Join(folder, "log"))
	for _, name := range []string{"TRIAD_PYTHON", "VIRTUAL_ENV", "FAKE_PIP"} {
		t.Setenv(name, "")
	}
	log := &bytes.Buffer{}
	return &Environment{
		Files: fstest.MapFS{
			"requirements.txt":      {Data: []byte("torch==2.11.0\n")},
			"requirements-cuda.txt": {Data: []byte("nvcc\n")},
		},
		DataDir: filepath.Join(folder, "data"), Log: &lockedWriter{w: log}, Space: func(string) (uint64,
			error,
		) {
			return 1 << 40, nil
		},
	}, log
}

// A cancelled search reports that, and nothing about the machine; existing environments stay.
func TestASearchThatIsBrokenOff(t *testing.T) {
	e, _ := fakeEnvironment(t)
	made, err := e.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, named := range []string{"", made.Path} {
		t.Setenv("TRIAD_PYTHON", named)
		if _, err := e.Find(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("find with TRIAD_PYTHON=%q: %v", named, err)
		}
		if _, err := e.Ensure(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("ensure with TRIAD_PYTHON=%q: %v", named, err)
		}
	}
	if !exists(made.Path) {
		t.Errorf("%s was removed", made.Path)
	}
}

type lockedWriter struct {
	mu sync.Mutex
	w  *bytes.Buffer
}

func (l *lockedWriter) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func installs(t *testing.T) int {
	text, _ := os.ReadFile(os.Getenv("FAKE_LOG"))
	return strings.Count(string(text), "run")
}

// A missing environment is made once, with consent, and found the second time.
func TestEnsureMakesOnce(t *testing.T) {
	e, log := fakeEnvironment(t)
	asked := ""
	e.Consent = func(_ context.Context, q string) bool { asked += q; return true }
	for range 2 {
		i, err := e.Ensure(t.Context())
		if err != nil || i.Source != "private environment" || i.Torch != "2.11.0" {
			t.Fatalf("%+v %v\n%s", i, err, log)
		}
	}
	if installs(t) != 1 {
		t.Errorf("installed %d times", installs(t))
	}
	for _, want := range []string{
		"download  about 2.5 GB", "disk      about 4.6 GB", e.DataDir,
		"setup --remove",
	} {
		if strings.Count(asked, want) != 1 {
			t.Errorf("the question lacks %q or repeats it:\n%s", want, asked)
		}
	}
}

// Two at once: one makes it, the other waits and uses it.
func TestEnsureTwoAtOnce(t *testing.T) {
	e, log := fakeEnvironment(t)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			if _, err := e.Ensure(context.Background()); err != nil {
				t.Errorf("%v\n%s", err, log)
			}
		})
	}
	group.Wait()
	if installs(t) != 1 {
		t.Errorf("installed %d times\n%s", installs(t), log)
	}
}

// A set-up that was interrupted leaves nothing that counts as an environment, and the next one starts over.
func TestEnsureInterrupted(t *testing.T) {
	e, log := fakeEnvironment(t)
	t.Setenv("FAKE_PIP", "slow")
	ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
	defer cancel()
	began := time.Now()
	if _, err := e.Ensure(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("%v\n%s", err, log)
	}
	if time.Since(began) > 30*time.Second {
		t.Errorf("took %v to stop", time.Since(began))
	}
	// A kill -9 leaves the partial folder: the same as this.
	dir, _ := e.dir(pythonParcel)
	write(t, filepath.Join(dir+".partial", "bin", "python"), "half")
	t.Setenv("FAKE_PIP", "")
	if i, err := e.Ensure(t.Context()); err != nil || i.Torch == "" {
		t.Fatalf("%+v %v\n%s", i, err, log)
	}
	if exists(dir + ".partial") {
		t.Error("the partial folder is still there")
	}
}

// Ending only the question or the download leaves no environment and is no fault: the reason is reported.
func TestEnsureStoppedByTheUser(t *testing.T) {
	for _, at := range []string{"the question", "the download"} {
		e, log := fakeEnvironment(t)
		t.Setenv("FAKE_PIP", "slow")
		stop, interrupt := context.WithCancel(t.Context())
		ended := false
		e.Interruptible = func(context.Context) (context.Context, func()) {
			return stop, func() { ended = true }
		}
		e.Consent = func(ctx context.Context, _ string) bool {
			if at == "the question" {
				interrupt()
				<-ctx.Done()
				return false
			}
			time.AfterFunc(300*time.Millisecond, interrupt)
			return true
		}
		began := time.Now()
		_, err := e.Ensure(t.Context())
		var u *backend.Unavailable
		says := "was stopped; triad setup makes it"
		if !errors.As(err, &u) || !strings.Contains(err.Error(), says) || !ended {
			t.Errorf("at %s: %v\n%s", at, err, log)
		}
		dir, _ := e.dir(pythonParcel)
		if exists(dir) || exists(dir+".partial") || time.Since(began) > 30*time.Second {
			t.Errorf("at %s: after %v something is left", at, time.Since(began))
		}
	}
}

// Every reason why there is no environment is a sentence that says what to do, and leaves nothing behind.
func TestEnsureUnavailable(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(t *testing.T, e *Environment)
		want  []string
	}{
		{
			"offline", func(_ *testing.T, e *Environment) { e.Offline = true },
			[]string{"no torch", "--offline forbids fetching"},
		},
		{
			"declined", func(_ *testing.T, e *Environment) {
				e.Consent = func(context.Context, string) bool { return false }
			},
			[]string{"declined", "--impl cuda"},
		},
		{
			"no space", func(_ *testing.T, e *Environment) {
				e.Space = func(string) (uint64, error) { return 1e9, nil }
			},
			[]string{"needs about 4.6 GB", "1.0 GB are free", "make room"},
		},
		{
			"the disk fills up", func(t *testing.T, _ *Environment) { t.Setenv("FAKE_PIP", "full") },
			[]string{"No space left on device"},
		},
		{
			"no python", func(t *testing.T, _ *Environment) { t.Setenv("PATH", t.TempDir()) },
			[]string{"no python3 on the PATH", "install Python"},
		},
		{
			"TRIAD_PYTHON is not there", func(t *testing.T, _ *Environment) {
				t.Setenv("TRIAD_PYTHON",
					"/nowhere/python")
			},
			[]string{"TRIAD_PYTHON", "/nowhere/python"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			e, log := fakeEnvironment(t)
			c.setup(t, e)
			_, err := e.Ensure(t.Context())
			var u *backend.Unavailable
			if !errors.As(err, &u) {
				t.Fatalf("%v\n%s", err, log)
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
			if left, _ := filepath.Glob(filepath.Join(e.DataDir, "python-*[0-9a-f]")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// TRIAD_PYTHON is used even outside the tested range, and marked.
func TestTriadPythonOutside(t *testing.T) {
	e, _ := fakeEnvironment(t)
	folder := t.TempDir()
	write(t, filepath.Join(folder, "python"), fakePython)
	write(t, filepath.Join(folder, "versions"),
		`{"version": "3.12.1", "torch": "2.4.0", "triton": "3.0.0", "numpy": "2.4.1"}`)
	t.Setenv("TRIAD_PYTHON", filepath.Join(folder, "python"))
	i, err := e.Ensure(t.Context())
	if err != nil || !i.Outside || i.Torch != "2.4.0" || i.Misfit != "torch 2.4.0, want 2.9 or newer" {
		t.Errorf("%+v %v", i, err)
	}
}

func TestRemove(t *testing.T) {
	e, _ := fakeEnvironment(t)
	if _, err := e.Ensure(t.Context()); err != nil {
		t.Fatal(err)
	}
	freed, err := e.Remove(t.Context())
	if err != nil || freed == 0 {
		t.Errorf("freed %d: %v", freed, err)
	}
	var u *backend.Unavailable
	if _, err := e.Find(t.Context()); !errors.As(err, &u) {
		t.Errorf("still found: %v", err)
	}
}

func TestMisfit(t *testing.T) {
	good := Interpreter{Version: "3.11.7", Torch: "2.11.0+cu130", Triton: "3.6.0", NumPy: "2.3.5"}
	if why := good.misfit(false); why != "" {
		t.Errorf("good: %s", why)
	}
	for want, change := range map[string]func(*Interpreter){
		"Python 3.10.2": func(i *Interpreter) { i.Version = "3.10.2" },
		"torch 2.8.1":   func(i *Interpreter) { i.Torch = "2.8.1" },
		"no triton":     func(i *Interpreter) { i.Triton = "" },
		"numpy 2.4.0":   func(i *Interpreter) { i.NumPy = "2.4.0" },
	} {
		i := good
		change(&i)
		if why := i.misfit(false); !strings.HasPrefix(why, want) {
			t.Errorf("%q, want %q", why, want)
		}
	}
	newer := good
	newer.NumPy = "2.4.0"
	if why := newer.misfit(true); why != "" {
		t.Errorf("NumPy 2.4 beside a GPU: %s", why)
	}
	for version, want := range map[string]bool{
		"2.9": true, "2.10.0": true, "3": true, "2.8.9": false,
		"": false, "x.y": false, "2.9.0a0+git": true,
	} {
		if got := atLeast(version, 2, 9); got != want {
			t.Errorf("atLeast(%q, 2.9) = %v", version, got)
		}
	}
}
