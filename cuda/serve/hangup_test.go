package serve

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// busyDevice starts a process, as a build does, and never returns.
type busyDevice struct{ Device }

func (busyDevice) Name() string { return "busy" }

func (busyDevice) Versions() map[string]string {
	started := exec.Command("sleep", "1000")
	if err := started.Start(); err != nil {
		panic(err)
	}
	fmt.Println(started.Process.Pid)
	for {
		_ = unix.Pause()
	}
}

// serveBusy is the worker of the test below.
func serveBusy() error {
	return Catalog(context.Background(), busyDevice{}, "", os.NewFile(3, "connection"),
		os.NewFile(4, "memory"))
}

// A worker whose driver is gone ends in the middle of a call, with all that it started. The kernel's own
// signal at the driver's death, which reaches only the driver's child, is not used here.
func TestWorkerEndsWithItsDriver(t *testing.T) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	mine, theirs := os.NewFile(uintptr(pair[0]), "driver"), os.NewFile(uintptr(pair[1]), "worker")
	memory, err := os.CreateTemp(t.TempDir(), "memory")
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	if err := memory.Truncate(testMemory); err != nil {
		t.Fatal(err)
	}
	process := exec.Command(os.Args[0])
	process.Env = append(os.Environ(), "TRIAD_TEST_WORKER=busy")
	process.ExtraFiles, process.Stderr = []*os.File{theirs, memory}, os.Stderr
	process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	printed, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	defer func() { _ = syscall.Kill(-process.Process.Pid, syscall.SIGKILL) }()
	hello := fmt.Sprintf(`{"id":1,"do":"hello","hello":{"protocol":1,"memory_bytes":%d}}`+"\n", testMemory)
	if _, err := mine.WriteString(hello); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(printed).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	started, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	mine.Close() // as the kernel does when the driver is killed
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	select {
	case err := <-ended:
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			t.Errorf("the worker ended with %v, want SIGKILL", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the worker lives on without its driver")
	}
	for range 200 {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", started))
		if err != nil || strings.Contains(string(stat), ") Z ") {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("process %d, which the worker had started, lives on", started)
}
