// Package panics turns a panic into an error, so that a fault of triad's own ends a run like any other error:
// finished work is recorded, and the message says what was being done. Every goroutine of the driver is
// started here: a panic in one that is not guarded ends the process.
package panics

import (
	"errors"
	"fmt"
	"path"
	"runtime"
	"strings"
	"sync"
)

// Error is a panic: an internal error.
type Error struct {
	Value any      // what was panicked with
	Stack []string // where, innermost first: "triad/internal/run.(*execution).recordHeat bench.go:286"
	Doing []string // what was being done, innermost first
}

// Error returns one line: what was being done and the value of the panic.
func (e *Error) Error() string {
	return "internal error" + strings.Join(prefixed(" while ", e.Doing), "") + ": " +
		oneLine(fmt.Sprint(e.Value))
}

// WithStack returns the error and its stack, one frame per line.
func (e *Error) WithStack() string {
	return strings.Join(append([]string{e.Error()}, e.Stack...), "\n  at ")
}

// Unwrap returns the error that was panicked with, if it was one.
func (e *Error) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

func prefixed(prefix string, words []string) []string {
	var all []string
	for _, w := range words {
		all = append(all, prefix+w)
	}
	return all
}

func oneLine(text string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return first
}

// In returns the internal error in an error, or nil.
func In(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return nil
}

// Of returns the internal error of a recovered value.
func Of(p any, doing string) *Error {
	e := of(p)
	e.Doing = append(e.Doing, doing)
	return e
}

// Caught, deferred, turns a panic of the function that returns *err into its error, and adds to an internal
// error what was being done:
//
//	defer panics.Caught(&err, func() string { return "judging " + name })
func Caught(err *error, doing func() string) {
	if p := recover(); p != nil {
		*err = of(p)
	}
	if e := In(*err); e != nil {
		e.Doing = append(e.Doing, doing())
	}
}

// Call calls a function and returns its panic as an error.
func Call(f func()) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = of(p)
		}
	}()
	f()
	return nil
}

// Go calls a function in a goroutine of its own. If it panics, failed gets the error, in that goroutine.
func Go(f func(), failed func(err error)) {
	go func() {
		if err := Call(f); err != nil {
			failed(err)
		}
	}()
}

// Group calls functions concurrently. The zero value is ready to use.
type Group struct {
	wait  sync.WaitGroup
	mu    sync.Mutex
	first error
}

// Go calls a function in a goroutine of its own.
func (g *Group) Go(f func()) {
	g.wait.Go(func() {
		if err := Call(f); err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			if g.first == nil {
				g.first = err
			}
		}
	})
}

// Wait waits for all of them, and returns the first panic.
func (g *Group) Wait() error {
	g.wait.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.first
}

// mostFrames is the number of stack frames kept.
const mostFrames = 12

// of makes an error of a recovered value. One that was caught before keeps its stack.
func of(p any) *Error {
	if e, is := p.(*Error); is {
		return e
	}
	return &Error{Value: p, Stack: stack()}
}

// stack returns the stack above the panic that is being recovered from.
func stack() []string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs)])
	var all []string
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		if f.Function == "runtime.gopanic" { // frames before it belong to the recovery
			all = nil
			continue
		}
		if f.Function != "" && !strings.HasPrefix(f.Function, "runtime.") {
			all = append(all, fmt.Sprintf("%s %s:%d", f.Function, path.Base(f.File), f.Line))
		}
	}
	return all[:min(len(all), mostFrames)]
}
