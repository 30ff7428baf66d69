package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"triad/internal/need"
)

// liveText collects what a process prints while it runs.
type liveText struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *liveText) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *liveText) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// wait returns when the text contains want for the nth time.
func (l *liveText) wait(t *testing.T, want string, n int) {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if strings.Count(l.String(), want) >= n {
			return
		}
	}
	t.Fatalf("%q did not appear %d times:\n%s", want, n, l)
}

// TestWatch: a watched file is judged again when it is saved, changes are printed, and an interrupt ends the
// watch with the code of the last verdict.
func TestWatch(t *testing.T) {
	need.Tool(t, "g++")
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "mine.cu")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(strings.Replace(rightRow, "rows) return", "rows - 1) return", 1))
	var out liveText
	cmd := exec.Command(self, "watch", "softmax", "--add", file, "--device", "cpu", "--dims", "rows=4,cols=9")
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+t.TempDir())
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	out.wait(t, "Waiting for the next save", 1)
	write(rightRow)
	out.wait(t, "Waiting for the next save", 2)
	if want := "mine/mine.cu forward fp32 was FAIL, is PASS"; !strings.Contains(out.String(), want) {
		t.Errorf("it does not say %q:\n%s", want, &out)
	}
	write(rightRow + "garbage\n")
	out.wait(t, "was PASS, is BUILD_FAIL", 1)
	out.wait(t, "Waiting for the next save", 3)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 1 {
		t.Errorf("exit %d, want that of the last verdict, 1", code)
	}
}
