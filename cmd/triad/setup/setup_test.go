package setup

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/console"
	"triad/internal/machine"
)

// TestFirstInterruptReachesTheCompiler: the first Ctrl-C ends what setup --gpu runs: there is no case to
// finish. The compiler of this test never ends by itself.
func TestFirstInterruptReachesTheCompiler(t *testing.T) {
	toolkit := t.TempDir()
	called := filepath.Join(toolkit, "called")
	for name, text := range map[string]string{
		"bin/nvcc":       "#!/bin/sh\ntouch " + called + "\nsleep 1000\n",
		"include/cuda.h": "",
	} {
		file := filepath.Join(toolkit, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("CUDA_HOME", toolkit)
	a := &verb{machine.New(console.New(strings.NewReader(""), io.Discard, io.Discard))}
	stop, interrupt := context.WithCancel(t.Context())
	a.Stop = stop
	done := make(chan error, 1)
	go func() {
		o := Options{gpu: t.TempDir(), EnvironmentFlags: machine.EnvironmentFlags{Offline: true}}
		done <- a.setUp(t.Context(), &o)
	}()
	for _, err := os.Stat(called); err != nil; _, err = os.Stat(called) {
		select {
		case err := <-done:
			t.Fatalf("it ended before it called the compiler: %v", err)
		case <-time.After(time.Millisecond):
		}
	}
	interrupt()
	select {
	case err := <-done:
		if err == nil {
			t.Error("it says that it is done")
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the first interrupt does not reach the compiler")
	}
}
