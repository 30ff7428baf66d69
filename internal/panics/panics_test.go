package panics

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func explodes() {
	var nothing *Error
	_ = nothing.Doing[0]
}

func outer() (err error) {
	defer Caught(&err, func() string { return "comparing softmax" })
	return inner()
}

func inner() (err error) {
	defer Caught(&err, func() string { return "judging cuda/warp" })
	explodes()
	return nil
}

// A panic becomes an error with what was being done, innermost first, and its place.
func TestCaught(t *testing.T) {
	err := fmt.Errorf("further out: %w", outer())
	if want := "further out: internal error while judging cuda/warp while comparing softmax: runtime " +
		"error: invalid memory address"; !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if e := In(err); e == nil || len(e.Stack) == 0 ||
		!strings.HasPrefix(e.Stack[0], "triad/internal/panics.explodes panics_test.go:") {
		t.Errorf("%+v", e)
	}
	if In(io.EOF) != nil || In(nil) != nil {
		t.Error("an error that is no panic is taken for one")
	}
}

// An error that is no panic is unchanged.
func TestCaughtLeavesErrors(t *testing.T) {
	f := func() (err error) {
		defer Caught(&err, func() string { t.Error("asked what was being done"); return "" })
		return io.EOF
	}
	if err := f(); err != io.EOF {
		t.Error(err)
	}
}

// The first panic of a group is its error; the others go on. One that is raised again keeps its stack.
func TestGroup(t *testing.T) {
	var g Group
	done := make(chan bool, 1)
	g.Go(explodes)
	g.Go(func() { done <- true })
	err := g.Wait()
	if e := In(err); e == nil || !strings.Contains(e.Stack[0], "explodes") {
		t.Fatalf("%+v", err)
	}
	<-done
	if again := Call(func() { panic(err) }); again != err {
		t.Errorf("%v is not %v", again, err)
	}
	if err := new(Group).Wait(); err != nil {
		t.Error(err)
	}
}

func TestGo(t *testing.T) {
	failed := make(chan error)
	Go(func() { panic(io.ErrShortWrite) }, func(err error) { failed <- err })
	if err := <-failed; !errors.Is(err, io.ErrShortWrite) || In(err) == nil {
		t.Error(err)
	}
}
