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
	kernel := filepath.Join(folder, "relu.cu")
	if err := os.WriteFile(kernel, []byte(rightReLU), 0o644); err != nil {
		t.Fatal(err)
	}
	const nothing = "stopped before anything was run"
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"triad's kernels": {[]string{"compare", "relu", "--impl", "cuda", "--quick"}, nothing},
		"its plan":        {[]string{"compare", "relu", "--impl", "cuda", "--plan"}, nothing},
		"an added file":   {[]string{"compare", "relu", "--add", kernel, "--impl", "mine"}, nothing},
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
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
				if _, err := os.Stat(compiling); err == nil {
					break
				}
				if time.Now().After(end) {
					_ = cmd.Process.Kill()
					t.Fatalf("nothing is compiled\n%s", out.String())
				}
			}
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			_ = cmd.Wait()
			// half of the grace period after which a worker that does not end is killed
			if took := time.Since(began); took > time.Second {
				t.Errorf("it ends after %v", took)
			}
			text := out.String()
			if code := cmd.ProcessState.ExitCode(); code != 3 || !strings.Contains(text, "triad: stopping\n") ||
				!strings.Contains(text, c.says) {
				t.Errorf("exit %d\n%s", code, text)
			}
		})
	}
}

const rightReLU = `__global__ void relu(const float *x, float *y, int n) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) y[i] = x[i] > 0 ? x[i] : 0;
}
extern "C" void solve(const float *x, float *y, int n) { relu<<<(n + 255) / 256, 256>>>(x, y, n); }
`
