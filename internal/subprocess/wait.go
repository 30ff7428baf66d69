package subprocess

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// Wait waits at most d for the end of a process, and reports whether it was reaped.
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

// Exited is closed when the process has ended and was reaped, even if something that it started still runs.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Stopped reports whether a signal stopped the process, or one that it started: only another signal makes it
// continue.
func (p *Process) Stopped() bool {
	return slices.ContainsFunc(append(descendants(p.PID()), p.PID()), func(pid int) bool {
		fields := statOf(pid)
		return len(fields) > 0 && fields[0] == "T"
	})
}

// Reaped reports whether the process has ended and was reaped.
func (p *Process) Reaped() bool { return p.Wait(0) }

// Exit describes how a reaped process ended: "exited 7", "died by signal segmentation fault". Signal is 0 if
// none ended it.
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
