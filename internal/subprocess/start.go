package subprocess

import (
	"errors"
	"os/exec"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"triad/internal/panics"
)

// Process is a program that runs, or has ended.
type Process struct {
	command Command
	cmd     *exec.Cmd
	exited  chan struct{} // closed once it was reaped
	waitErr error
	ending  atomic.Bool

	exceeded atomic.Pointer[string] // the use that it was killed for
	group    *memoryGroup           // limits its memory; nil: only the driver counts
}

// keepGroup keeps children in the group of this process.
var keepGroup atomic.Bool

// KeepGroup makes the children of this process stay in its group. A worker calls it: whoever kills the
// worker's group then kills its compilers too. A hanging child is still killed with what it started.
func KeepGroup() { keepGroup.Store(true) }

// pipeDelay limits how long a grandchild that holds a pipe can delay us.
const pipeDelay = 2 * time.Second

// Start starts a program. The error is the system's, such as fs.ErrNotExist.
func Start(c Command) (*Process, error) {
	c = c.withDefaults()
	p := &Process{command: c, exited: make(chan struct{})}
	path, args := p.limited()
	p.cmd = exec.Command(path, args...)
	p.cmd.Env, p.cmd.Dir, p.cmd.ExtraFiles = c.Env, c.Dir, c.Files
	if c.Stdin != nil {
		p.cmd.Stdin = c.Stdin
	}
	p.cmd.Stdout, p.cmd.Stderr = c.Stdout, c.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: !keepGroup.Load(), Pdeathsig: syscall.SIGKILL}
	p.cmd.WaitDelay = pipeDelay

	started, begun := make(chan error, 1), false
	panics.Go(func() {
		// Pdeathsig follows the thread that created the child (golang/go#27505): it must live as long as the
		// child.
		runtime.LockOSThread()
		if err := p.cmd.Start(); err != nil {
			started <- err
			return
		}
		begun = true
		started <- nil
		p.signalEnd()
		p.waitErr = p.cmd.Wait()
		close(p.exited)
	}, func(err error) {
		if !begun {
			started <- err
			return
		}
		p.waitErr = err
		close(p.exited)
	})
	if err := <-started; err != nil {
		if p.group != nil {
			p.group.remove()
		}
		return nil, err
	}
	p.watch()
	return p, nil
}

// signalEnd waits for the end of the process, and leaves it to be reaped, if its command asks for that.
func (p *Process) signalEnd() {
	if p.command.Ended == nil {
		return
	}
	for {
		err := unix.Waitid(unix.P_PID, p.PID(), nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.command.Ended(p.PID())
}

// PID returns the number of the process, which is also that of its group if it has its own.
func (p *Process) PID() int { return p.cmd.Process.Pid }
