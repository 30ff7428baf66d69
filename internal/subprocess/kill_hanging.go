package subprocess

import (
	"fmt"
	"syscall"
	"time"
)

// Grace periods of an ending: after SIGTERM, and after SIGKILL before the process counts as unkillable.
type Grace struct {
	Term time.Duration
	Kill time.Duration
}

// DefaultGrace is two seconds to end by itself and ten to be reaped.
var DefaultGrace = Grace{Term: 2 * time.Second, Kill: 10 * time.Second}

// End stops a process: SIGTERM to its group, SIGKILL after the grace period, a bounded wait. It reports
// whether the process was reaped. A second call waits for nothing.
func (p *Process) End() (reaped bool) {
	if !p.ending.CompareAndSwap(false, true) {
		return p.Reaped()
	}
	if !p.Reaped() {
		p.signal(syscall.SIGTERM)
		p.Wait(p.command.Grace.Term)
	}
	return p.kill()
}

// kill kills the group in any case: a grandchild (a compiler, a tuner) may outlive its parent.
func (p *Process) kill() (reaped bool) {
	p.signal(syscall.SIGKILL)
	return p.Wait(p.command.Grace.Kill)
}

// signal sends a signal to the process and what it started.
func (p *Process) signal(s syscall.Signal) {
	pid := p.PID()
	if p.cmd.SysProcAttr.Setpgid {
		pid = -pid
	}
	_ = p.command.Kill(pid, s) // it may have ended just now
}

// killHanging kills a process that did not end in time, and gives the error of its caller.
func (p *Process) killHanging(why error) error {
	if !p.kill() {
		return fmt.Errorf("%w; the process %d survived SIGKILL for %v", why, p.PID(), p.command.Grace.Kill)
	}
	return why
}
