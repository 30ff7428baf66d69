package subprocess

import (
	"fmt"
	"syscall"
	"time"
)

// Grace holds the grace periods of an ending: after SIGTERM, and after SIGKILL before the process counts as
// unkillable.
type Grace struct {
	Term time.Duration
	Kill time.Duration
}

// DefaultGrace is two seconds to end voluntarily and ten to be reaped.
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

// Ask sends SIGTERM to a process, and waits for nothing.
func (p *Process) Ask() {
	if !p.Reaped() {
		_ = p.command.Kill(p.PID(), syscall.SIGTERM)
	}
}

// kill kills the group in any case: a grandchild (a compiler, a tuner) may outlive its parent.
func (p *Process) kill() (reaped bool) {
	p.signal(syscall.SIGKILL)
	p.killMarked()
	reaped = p.Wait(p.command.Grace.Kill)
	if reaped && p.group != nil {
		p.group.remove()
	}
	return reaped
}

// signal sends a signal to the process and what it started: to its group, or, inside a worker's group, to the
// descendants that the system knows.
func (p *Process) signal(s syscall.Signal) {
	if p.cmd.SysProcAttr.Setpgid {
		_ = p.command.Kill(-p.PID(), s) // it may have ended just now
		return
	}
	if p.Reaped() {
		return // the number may be another process's by now
	}
	for _, pid := range p.stopped() {
		_ = p.command.Kill(pid, s)
		_ = p.command.Kill(pid, syscall.SIGCONT)
	}
}

// stopped stops the process and all its descendants, so that none starts another meanwhile, and lists them.
func (p *Process) stopped() []int {
	var all []int
	for {
		found := append([]int{p.PID()}, descendants(p.PID())...)
		if len(found) <= len(all) {
			return found
		}
		all = found
		for _, pid := range all {
			_ = p.command.Kill(pid, syscall.SIGSTOP)
		}
	}
}

// killHanging kills a process that did not end in time, and returns its caller's error.
func (p *Process) killHanging(why error) error {
	if !p.kill() {
		return fmt.Errorf("%w; the process %d survived SIGKILL for %v", why, p.PID(), p.command.Grace.Kill)
	}
	return why
}
