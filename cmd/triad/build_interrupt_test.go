package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/need"
)

// slowCompiler is a C++ compiler that says who it is, marks a compilation in a file and never finishes it.
const slowCompiler = `#!/bin/sh
case "$*" in *--version*|*-dump*) exec g++ "$@";; esac
touch COMPILING
sleep 300
`

// TestInterruptWhileKernelsAreBuilt: a build is no kernel that runs: the first Ctrl-C ends it within seconds,
// says so, and records nothing.
func TestInterruptWhileKernelsAreBuilt(t *testing.T) {
	need.Tool(t, "g++")
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	kernel := filepath.Join(folder, "reverse.cu")
	if err := os.WriteFile(kernel, []byte(rightReverse), 0o644); err != nil {
		t.Fatal(err)
	}
	const nothing = "stopped before anything was run"
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"triad's kernels": {[]string{"compare", "reverse", "--impl", "cuda", "--quick"}, nothing},
		"its plan":        {[]string{"compare", "reverse", "--impl", "cuda", "--plan"}, nothing},
		"an added file":   {[]string{"compare", "reverse", "--add", kernel, "--impl", "mine"}, nothing},
		"a file":          {[]string{kernel}, "Stopped: 1 of 1 files were not looked at."},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			compiling, compiler := filepath.Join(home, "compiling"), filepath.Join(home, "slow++")
			script := strings.ReplaceAll(slowCompiler, "COMPILING", compiling)
			if err := os.WriteFile(compiler, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(self, append(c.args, "--db", filepath.Join(home, "r.db"))...)
			cmd.Env = append(os.Environ(), "CXX="+compiler, "XDG_CACHE_HOME="+home)
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if took := interruptedWhileItCompiles(t, cmd, compiling); took > 1800*time.Millisecond {
				t.Errorf("it ends after %v", took) // a worker that does not end is killed after two
			}
			text := out.String()
			if code := cmd.ProcessState.ExitCode(); code != 3 ||
				!strings.Contains(text, "triad: stopping\n") || !strings.Contains(text, c.says) {
				t.Errorf("exit %d\n%s", code, text)
			}
		})
	}
}

// interruptedWhileItCompiles runs a command, interrupts it when the mark of a compilation is there, and
// returns how long it then takes to end.
func interruptedWhileItCompiles(t *testing.T, cmd *exec.Cmd, mark string) time.Duration {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(mark); err == nil {
			break
		}
		if time.Now().After(end) {
			_ = cmd.Process.Kill()
			t.Fatal("nothing is compiled")
		}
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	_ = cmd.Wait()
	return time.Since(began)
}

const rightReverse = `__global__ void reverse(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = x[n - 1 - i];
}
extern "C" void solve(const float *x, float *y, int n) { reverse<<<(n + 255) / 256, 256>>>(x, y, n); }
`
