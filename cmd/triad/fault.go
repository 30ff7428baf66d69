package main

import (
	"errors"
	"fmt"
	"sync"

	"triad/internal/panics"
)

// fault is the first internal error of a goroutine that nobody waits for.
type fault struct {
	mu  sync.Mutex
	err error
}

func (f *fault) get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// broke ends the command with an internal error.
func (a *app) broke(err error) {
	a.fault.mu.Lock()
	if a.fault.err == nil {
		a.fault.err = err
	}
	a.fault.mu.Unlock()
	a.halt()
}

// guarded runs a verb; a panic becomes its error.
func (a *app) guarded(verb func() error) (err error) {
	defer panics.Caught(&err, func() string { return "running the command" })
	return errors.Join(verb(), a.fault.get())
}

// tellInternal prints what went wrong inside triad, and what to do.
func (a *app) tellInternal(e *panics.Error) {
	fmt.Fprintf(a.err, "triad: %s\nThis is a fault of triad, not of a kernel. Please report it: these "+
		"lines, the command, and what triad version prints.\n"+
		"What was finished before is recorded.\n", e.WithStack())
}
