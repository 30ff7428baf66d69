package pybridge

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"triad/internal/subprocess"
	"triad/internal/worker"
)

// Parent is a process that has imported torch and forks workers: an interpretation that is tried, and the
// worker after one that died, wait for no import. It runs no user code. The zero value is ready to use: the
// process starts with the first worker, or earlier if ahead is called. With a nil Parent every worker imports
// torch itself.
type Parent struct {
	mu sync.Mutex
	forker
	python string // the interpreter that it runs
	tried  bool   // with the Python of the workers
	began  bool   // ahead of them
	lent   bool   // by another program, which ends it
}

// Lend starts the process in the Python at this path, for other programs: they ask it over the returned file
// (BorrowParent).
func (p *Parent) Lend(e *Environment, cacheDir, python string) (*os.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c, err := e.command(Interpreter{Path: python}, cacheDir, "worker/worker.py")
	if err != nil {
		return nil, err
	}
	if p.start(c); p.process == nil {
		return nil, fmt.Errorf("%s forks no workers", python)
	}
	return p.ask, nil
}

// BorrowParent returns the process in the Python at this path that another program lends.
func BorrowParent(ask *os.File, python string) *Parent {
	return &Parent{forker: forker{ask: ask}, python: python, tried: true, lent: true}
}

// ahead starts the process before the workers' Python is known, in the likely one: asking every candidate for
// its versions takes a fifth of the time of the import. If it turns out to be another one, the first worker
// restarts the process.
func (p *Parent) ahead(e *Environment, cacheDir string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	python := e.likely()
	if p.began || p.tried || python == "" {
		return
	}
	p.began = true
	if c, err := e.command(Interpreter{Path: python}, cacheDir, "worker/worker.py"); err == nil {
		p.start(c)
	}
}

// forked turns the command of a worker.py into that of a stand-in whose worker the parent forks (forked.py).
// Without a parent the command is unchanged.
func (p *Parent) forked(c worker.Command) worker.Command {
	if p == nil {
		return c
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.tried {
		p.tried = true
		if p.process == nil || p.process.Reaped() || p.python != c.Path {
			_ = p.end() // what began ahead and is no use
			p.start(c)
		}
	}
	if has := p.process != nil && !p.process.Reaped() || p.lent && p.python == c.Path; !has {
		return c
	}
	c.Args = append([]string{"-I", "-S", forking(c), "worker"}, c.Args[scriptAt+1:]...)
	c.Files, c.Boxed = append([]*os.File{p.ask}, c.Files...), true
	return c
}

// forking returns the path of the process's script, which is next to a worker's.
func forking(c worker.Command) string {
	return filepath.Join(filepath.Dir(c.Args[scriptAt]), "forked.py")
}

// start starts the process. If that fails, every worker imports torch itself, and reports why it cannot.
func (p *Parent) start(c worker.Command) {
	if p.forker.start(subprocess.Command{
		Path: c.Path, Args: []string{"-u", "-X", "faulthandler", forking(c), "parent"}, Env: c.Env,
	}) == nil {
		p.python = c.Path
	}
}

// Close ends the process, and with it the workers that are left.
func (p *Parent) Close() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.end()
}
