package triad_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// playMake plays make under .ci/run: it tells what it was given, leaves a module cache as Go leaves it, and
// ends as MAKE_ENDS says.
const playMake = `#!/bin/sh
mkdir -p "$GOMODCACHE/cache/x@v1" && echo x >"$GOMODCACHE/cache/x@v1/file" && chmod -R a-w "$GOMODCACHE/cache"
env >"$PLAYED"
echo "$@" >"$PLAYED.args"
pip="$(cat "$XDG_CONFIG_HOME/pip/pip.conf") $(cat "$HOME/.netrc")"
pip="$pip $(cat "$HOME/.gitconfig") $(cat "$XDG_CONFIG_HOME/go/env")"
echo "SETTINGS=$pip" >>"$PLAYED"
case $MAKE_ENDS in
well) ;;
badly) exit 7 ;;
never) touch "$PLAYED.waits"; sleep 60 & wait ;;
esac
`

// ciRun is .ci/run with that make, in a home that has settings. TMPDIR is where its folder goes.
func ciRun(t *testing.T, ends, temporary string, args ...string) (cmd *exec.Cmd, played string) {
	t.Helper()
	home, tools := t.TempDir(), t.TempDir()
	played = filepath.Join(t.TempDir(), "played")
	for path, text := range map[string]string{
		filepath.Join(home, ".config", "pip", "pip.conf"): "index", filepath.Join(home, ".netrc"): "login",
		filepath.Join(home, ".gitconfig"):           "safe",
		filepath.Join(home, ".config", "go", "env"): "GOFLAGS=-tags=settings",
		filepath.Join(tools, "make"):                playMake,
		filepath.Join(tools, "clang++-15"):          "#!/bin/sh\n",
		filepath.Join(tools, "clang++-16"):          "#!/bin/sh\n",
		filepath.Join(tools, "clang++-19"):          "#!/bin/sh\n",
		filepath.Join(tools, "chromium"):            "#!/bin/sh\n",
		filepath.Join(tools, "gdb"):                 "#!/bin/sh\n",
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd = exec.Command(".ci/run", args...)
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "TMPDIR="+temporary, "PATH="+tools+":"+
		os.Getenv("PATH"), "PLAYED="+played, "MAKE_ENDS="+ends,
		"TRIAD_PYTHON=/usr/bin/python3", "TORCHINDUCTOR_CACHE_DIR=/warm", "GOPROXY=https://proxy.example",
		"GOFLAGS=", "PIP_INDEX_URL=https://index.example")
	return cmd, played
}

// environmentOf reads what make was given.
func environmentOf(t *testing.T, played string) map[string]string {
	t.Helper()
	text, err := os.ReadFile(played)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		all[name] = value
	}
	return all
}

// Every folder that something is kept in is a new one, the user's settings are seen, and nothing is left
// behind, however the tests end.
func TestCIStartsFromNothing(t *testing.T) {
	for ends, code := range map[string]int{"well": 0, "badly": 7} {
		temporary := t.TempDir()
		cmd, played := ciRun(t, ends, temporary, "./internal/stats", "./internal/op")
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("make ends %s: exit %d, want %d: %v\n%s", ends, got, code, err, out)
		}
		got := environmentOf(t, played)
		room := filepath.Dir(got["HOME"])
		if !strings.HasPrefix(filepath.Base(room), "ci.") {
			t.Errorf("HOME=%s", got["HOME"])
		}
		for _, name := range []string{
			"TMPDIR", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
			"XDG_RUNTIME_DIR", "GOPATH", "GOMODCACHE", "GOCACHE",
			"GOTMPDIR", "PIP_CACHE_DIR", "UV_CACHE_DIR",
		} {
			if !strings.HasPrefix(got[name], room+"/") {
				t.Errorf("%s=%s is not in %s", name, got[name], room)
			}
		}
		for name, want := range map[string]string{
			"SETTINGS": "index login safe GOFLAGS=-tags=settings", "GOPROXY": "https://proxy.example",
			"PIP_INDEX_URL": "https://index.example",
			"GOFLAGS":       "-tags=settings -trimpath", "TRIAD_TEST_ALL": "1",
			"TRIAD_TEST_CLANG": "clang++-19",
			"TRIAD_PYTHON":     "", "TORCHINDUCTOR_CACHE_DIR": "",
		} {
			if got[name] != want {
				t.Errorf("%s=%s, want %q", name, got[name], want)
			}
		}
		if args, err := os.ReadFile(played + ".args"); err != nil ||
			string(args) != "lint test PACKAGES=./internal/stats ./internal/op\n" {
			t.Errorf("make was told %q, %v", args, err)
		}
		if _, err := os.Stat(room); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("make ends %s: %s is left", ends, room)
		}
		if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
			t.Errorf("make ends %s: %d files are left, %v", ends, len(left), err)
		}
	}
}

// Without packages all is tested, the dear tests of what a GPU reaches once: where what they reach is
// counted.
func TestCICountsWhatTheFakeGPUReaches(t *testing.T) {
	cmd, played := ciRun(t, "well", t.TempDir())
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	args, err := os.ReadFile(played + ".args")
	said := regexp.MustCompile(`^lint test gpu-coverage SKIP=(.*\$)\$\n$`).FindSubmatch(args)
	if err != nil || said == nil {
		t.Fatalf("make was told %q, %v", args, err)
	}
	skipped := regexp.MustCompile(string(said[1]))
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	run := regexp.MustCompile(`,\./cmd/triad \\\n\s+-run '([^']+)'\)`).FindSubmatch(makefile)
	if run == nil {
		t.Fatal("the Makefile counts nothing of ./cmd/triad")
	}
	counted := regexp.MustCompile(strings.ReplaceAll(string(run[1]), "$$", "$"))
	names := 0
	for folder, tests := range testsByFolder(t) {
		for _, name := range tests {
			if !skipped.MatchString(name) {
				continue
			}
			names++
			if folder != "cmd/triad" || !counted.MatchString(name) {
				t.Errorf("%s of %s is skipped, and gpu-coverage does not run it", name, folder)
			}
		}
	}
	if names != 5 {
		t.Errorf("%d tests are skipped, want 5", names)
	}
}

// testsByFolder are the names of the tests in Go.
func testsByFolder(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	named := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir(".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			all[filepath.Dir(path)] = append(all[filepath.Dir(path)], m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A long TMPDIR would make the paths of sockets longer than they can be.
func TestCIAvoidsALongTMPDIR(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("x", 60))
	if err := os.Mkdir(long, 0o755); err != nil {
		t.Fatal(err)
	}
	cmd, played := ciRun(t, "well", long)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if got := environmentOf(t, played)["TMPDIR"]; len(got) > 50 {
		t.Errorf("TMPDIR=%s", got)
	}
}

// Who ends .ci/run ends what it started, and finds nothing of it.
func TestCIIsEnded(t *testing.T) {
	temporary := t.TempDir()
	cmd, played := ciRun(t, "never", temporary)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(played + ".waits"); err == nil {
			break
		}
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			t.Fatal("make was not started")
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if got := cmd.ProcessState.ExitCode(); got != 143 {
		t.Errorf("exit %d, want 143", got)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%d files are left, %v", len(left), err)
	}
}
