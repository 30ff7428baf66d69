package subprocess

import (
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"
)

// Wait waits for the end of a process, at most so long, and reports whether it was reaped.
func (p *Process) Wait(d time.Duration) (reaped bool) {
	select {
	case <-p.exited:
		return true
	default:
	}
	if d <= 0 {
		return false
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-p.exited:
		return true
	case <-t.C:
		return false
	}
}

// Reaped reports whether the process has ended and was reaped.
func (p *Process) Reaped() bool { return p.Wait(0) }

// Exit describes how a process ended that was reaped: "exited 7", "died by signal segmentation fault". Signal
// is 0 where none ended it.
func (p *Process) Exit() (sentence string, signal syscall.Signal) {
	var e *exec.ExitError
	if !errors.As(p.waitErr, &e) {
		return "exited 0", 0
	}
	if w, ok := e.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return "died by signal " + w.Signal().String(), w.Signal()
	}
	if code := e.ExitCode(); p.command.Boxed && code > 128 && code < 128+65 {
		signal := syscall.Signal(code - 128)
		return "died by signal " + signal.String(), signal
	}
	return fmt.Sprintf("exited %d", e.ExitCode()), 0
}
