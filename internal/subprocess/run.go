package subprocess

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// ErrDeadline is the error of a program that was killed because it did not end within its deadline.
var ErrDeadline = errors.New("it did not end in time")

// Exceeded is the error of a program that was killed because it used more than its command permits.
type Exceeded struct {
	Program, Why string
}

// Error formats the error as a sentence.
func (e *Exceeded) Error() string { return e.Program + " was killed: " + e.Why }

// Run runs a program to its end and returns its stdout, unless Stdout receives it. When its deadline passes
// or ctx ends it is killed with its group; the error is then ErrDeadline with the deadline, or the cause of
// ctx. A program that uses too much gives an *Exceeded. A program that fails gives an *exec.ExitError, and
// its output until then.
func Run(ctx context.Context, c Command) (stdout string, err error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	out := &output{most: c.MostOutput, over: make(chan struct{})}
	if c.Stdout == nil {
		c.Stdout = out
	}
	p, err := Start(c)
	if err != nil {
		return "", err
	}
	var late <-chan time.Time
	if c.Deadline > 0 {
		timer := time.NewTimer(c.Deadline)
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-p.exited:
		err = p.waitErr
		p.killMarked()
		if why := cmp.Or(out.exceeded(), p.Exceeded()); err != nil && why != "" {
			err = &Exceeded{filepath.Base(c.Path), why}
		}
	case <-out.over:
		err = p.killHanging(&Exceeded{filepath.Base(c.Path), out.exceeded()})
	case <-ctx.Done():
		err = p.killHanging(context.Cause(ctx))
	case <-late:
		name := filepath.Base(c.Path)
		err = p.killHanging(fmt.Errorf("%s: %w: it was killed after %v", name, ErrDeadline, c.Deadline))
	}
	if !p.Reaped() { // something may still write into out
		return "", err
	}
	return out.kept.String(), err
}
