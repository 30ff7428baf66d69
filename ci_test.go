package triad_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// playMake is a fake make under .ci/run: it records its environment and arguments, leaves a read-only folder,
// and ends as MAKE_ENDS says.
const playMake = `#!/bin/sh
mkdir -p "$TMPDIR/mod/x@v1" && echo x >"$TMPDIR/mod/x@v1/file" && chmod -R a-w "$TMPDIR/mod"
env >"$PLAYED"
echo "$@" >"$PLAYED.args"
cp "$TRIAD_TEST_CHANGED" "$PLAYED.changed"
case $MAKE_ENDS in
well) ;;
badly) exit 7 ;;
never) touch "$PLAYED.waits"; sleep 60 & wait ;;
esac
`

// ciRun returns the command .ci/run with playMake as make. Its folder is made in temporary (TMPDIR).
func ciRun(t *testing.T, ends, temporary string, args ...string) (cmd *exec.Cmd, played string) {
	t.Helper()
	tools := t.TempDir()
	played = filepath.Join(t.TempDir(), "played")
	programs := map[string]string{"make": playMake}
	for _, name := range []string{
		"clang++-15", "clang++-16", "clang++-19", "chromium", "gdb", "bwrap",
		"qemu-aarch64", "aarch64-linux-gnu-g++",
	} {
		programs[name] = "#!/bin/sh\n"
	}
	for name, text := range programs {
		if err := os.WriteFile(filepath.Join(tools, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd = exec.Command(".ci/run", args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+temporary, "PATH="+tools+":"+os.Getenv("PATH"), "PLAYED="+played,
		"MAKE_ENDS="+ends, "SEVENTH=", "TRIAD_PYTHON=/usr/bin/python3", "TRIAD_TEST_TIER=long",
		"TORCHINDUCTOR_CACHE_DIR=/warm", "GOFLAGS=-buildvcs=false", "PIP_INDEX_URL=https://index.example")
	return cmd, played
}

// environmentOf reads the environment that make got.
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

// The tests get a temporary folder of the run, which is removed afterwards however they end, the existing
// caches, and no variable that steers triad; they get the day and the changed files.
func TestCIRun(t *testing.T) {
	changed := changedInputs(t)
	for ends, code := range map[string]int{"well": 0, "badly": 7} {
		temporary := t.TempDir()
		cmd, played := ciRun(t, ends, temporary, "./internal/stats", "./internal/op")
		out, err := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code {
			t.Fatalf("make ends %s: exit %d, want %d: %v\n%s", ends, got, code, err, out)
		}
		got := environmentOf(t, played)
		room := got["TMPDIR"]
		folder := temporary
		if len(filepath.Join(temporary, "ci.123456")) > 50 { // too long for the path of a socket
			folder = "/tmp"
		}
		if !strings.HasPrefix(filepath.Base(room), "ci.") || filepath.Dir(room) != folder {
			t.Errorf("TMPDIR=%s", room)
		}
		for name, want := range map[string]string{
			"HOME": os.Getenv("HOME"), "XDG_CACHE_HOME": os.Getenv("XDG_CACHE_HOME"),
			"PIP_INDEX_URL": "https://index.example", "GOFLAGS": "-buildvcs=false -trimpath",
			"TRIAD_TEST_ALL": "1", "TRIAD_TEST_CLANG": "clang++-19", "TRIAD_TEST_COVER": "",
			"TRIAD_TEST_TIER": "", "TRIAD_PYTHON": "", "TORCHINDUCTOR_CACHE_DIR": "",
			"TRIAD_TEST_DAY": fmt.Sprint(time.Now().Unix() / 86400),
		} {
			if got[name] != want {
				t.Errorf("%s=%s, want %q", name, got[name], want)
			}
		}
		if args, err := os.ReadFile(played + ".args"); err != nil ||
			string(args) != "lint test PACKAGES=./internal/stats ./internal/op\n" {
			t.Errorf("make was told %q, %v", args, err)
		}
		if got, err := os.ReadFile(played + ".changed"); err != nil || string(got) != changed {
			t.Errorf("make was told that these changed: %v\n%s\nwant\n%s", err, got, changed)
		}
		if !strings.Contains(string(out), "SEVENTH="+got["TRIAD_TEST_DAY"]+" .ci/run repeats it") {
			t.Errorf("it does not say how the share is repeated:\n%s", out)
		}
		if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
			t.Errorf("make ends %s: %d files are left, %v", ends, len(left), err)
		}
	}
}

// changedInputs lists what changed since the merge base. A branch without a commit has no changes.
func changedInputs(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "run", "./internal/testinputs").Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// The share of another day is repeated, and a whole run counts what only a GPU reaches.
func TestCISeventh(t *testing.T) {
	cmd, played := ciRun(t, "well", t.TempDir())
	cmd.Env = append(cmd.Env, "SEVENTH=3")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	got := environmentOf(t, played)
	if got["TRIAD_TEST_DAY"] != "3" || !strings.HasSuffix(got["TRIAD_TEST_COVER"], "/build/cover") {
		t.Errorf("day %s, coverage in %s", got["TRIAD_TEST_DAY"], got["TRIAD_TEST_COVER"])
	}
	if args, err := os.ReadFile(played + ".args"); err != nil || string(args) != "lint test\n" {
		t.Errorf("make was told %q, %v", args, err)
	}
}

// A long TMPDIR would make the paths of sockets too long.
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

// Ending .ci/run ends what it started and leaves nothing behind.
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
