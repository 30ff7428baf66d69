package pybridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"triad/internal/sandbox"
	"triad/internal/subprocess"
	"triad/internal/worker"
)

// Confined is a process in a sandbox that has imported torch and forks workers there, one at a time. It
// removes what one worker leaves before it forks the next (sandbox_reset.py).
type Confined struct {
	environment *Environment
	cache       string
	confine     func(*worker.Adapter)

	mu sync.Mutex
	forker
	python string
}

// NewConfined returns a process that starts when the first worker needs it. confine makes a worker the first
// process of a sandbox.
func NewConfined(e *Environment, cacheDir string, confine func(*worker.Adapter)) *Confined {
	return &Confined{environment: e, cache: cacheDir, confine: confine}
}

// Backend is OwnBackend for a file whose worker the process forks.
func (p *Confined) Backend(folder string, options worker.Options) *worker.Adapter {
	adapter := OwnBackend(p.environment, p.cache, folder, options, nil)
	start := adapter.Command
	adapter.Command = func(ctx context.Context) (worker.Command, error) {
		c, err := start(ctx)
		if err != nil {
			return c, err
		}
		return p.standIn(ctx, c)
	}
	return adapter
}

// standIn turns the command of a worker.py into that of a stand-in whose worker the process forks.
func (p *Confined) standIn(ctx context.Context, c worker.Command) (worker.Command, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process == nil || p.process.Reaped() || p.python != c.Path {
		if err := errors.Join(p.end(), p.start(ctx)); err != nil {
			return c, err
		}
	}
	c.Args = append([]string{"-I", "-S", forking(c), "confined"}, c.Args[scriptAt+1:]...)
	c.Env = append(c.Env, sandbox.Environment()...)
	c.Files, c.Boxed, c.Exceeded = append([]*os.File{p.ask}, c.Files...), true, p.process.Exceeded
	return c, nil
}

const (
	resetWord = "reset" // RESET of forked.py
	// longestReset limits the time until a process answers: it removes what a worker left, or still imports
	// torch.
	longestReset = time.Minute
)

// Reset removes what earlier workers left. A process that cannot is replaced.
func (p *Confined) Reset(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.process != nil && p.reset() == nil {
		return nil
	}
	if err := errors.Join(p.end(), p.start(ctx)); err != nil {
		return err
	}
	return p.reset()
}

func (p *Confined) reset() error {
	answer, ask := make([]byte, len(resetWord)+1), int(p.ask.Fd())
	if _, err := unix.Write(ask, []byte(resetWord)); err != nil {
		return fmt.Errorf("ask for an empty sandbox: %w", err)
	}
	for until := time.Now().Add(longestReset); ; {
		left := max(time.Until(until).Milliseconds(), 0)
		ready, err := unix.Poll([]unix.PollFd{{Fd: int32(ask), Events: unix.POLLIN}}, int(left))
		if errors.Is(err, unix.EINTR) {
			continue
		}
		n := 0
		if err == nil && ready > 0 {
			n, err = unix.Read(ask, answer)
		}
		if err != nil || string(answer[:n]) != resetWord {
			return fmt.Errorf("the process that forks workers in the sandbox does not answer: %w", err)
		}
		return nil
	}
}

func (p *Confined) start(ctx context.Context) error {
	i, err := p.environment.Ensure(ctx)
	if err != nil {
		return err
	}
	c, err := p.environment.command(i, p.cache, "worker/worker.py")
	if err != nil {
		return err
	}
	c.Args, c.Env = []string{"-u", forking(c), "parent", "alone"}, append(c.Env, p.environment.products()...)
	parent := &worker.Adapter{Command: func(context.Context) (worker.Command, error) { return c, nil }}
	p.confine(parent)
	boxed, err := parent.Command(ctx)
	if err != nil {
		return err
	}
	p.python = i.Path
	return p.forker.start(subprocess.Command{
		Path: boxed.Path, Args: boxed.Args, Env: boxed.Env, Most: boxed.Most, Boxed: boxed.Boxed,
	})
}

// Close ends the process, and with it the worker that is left.
func (p *Confined) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end()
}
