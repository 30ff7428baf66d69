package console

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

func (f *fault) Get() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

// Broke ends the command with an internal error.
func (c *Console) Broke(err error) {
	c.Fault.mu.Lock()
	if c.Fault.err == nil {
		c.Fault.err = err
	}
	c.Fault.mu.Unlock()
	c.Halt()
}

// Guarded runs a verb; a panic becomes its error.
func (c *Console) Guarded(verb func() error) (err error) {
	defer panics.Caught(&err, func() string { return "running the command" })
	return errors.Join(verb(), c.Fault.Get())
}

// PrintInternal prints what went wrong inside triad, and what to do.
func (c *Console) PrintInternal(e *panics.Error) {
	fmt.Fprintf(c.Err, "triad: %s\nThis is a fault of triad, not of a kernel. Please report it: these "+
		"lines, the command, and what triad version prints.\n"+
		"What was finished before is recorded.\n", e.WithStack())
}
