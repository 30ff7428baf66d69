package run

import (
	"context"
	"sync/atomic"
	"testing"

	"triad/internal/op"
	"triad/internal/truth"
)

// listenedTo is a context that counts the functions that are to be called at its end. The contexts made from
// it are among them until they are canceled.
type listenedTo struct {
	context.Context
	done      chan struct{}
	listeners atomic.Int32
	most      atomic.Int32
}

func (c *listenedTo) Done() <-chan struct{} { return c.done } // its own: it is no context of the library's

func (c *listenedTo) AfterFunc(func()) (stop func() bool) {
	c.most.Store(max(c.most.Load(), c.listeners.Add(1)))
	var stopped atomic.Bool
	return func() bool {
		if !stopped.CompareAndSwap(false, true) {
			return false
		}
		c.listeners.Add(-1)
		return true
	}
}

// TestUnrecordedLeavesNothingInItsContext: a loop that judges one candidate after another has one context for
// all of them. None leaves a part of itself there.
func TestUnrecordedLeavesNothingInItsContext(t *testing.T) {
	o := faked(t)
	ctx, stop := &listenedTo{Context: t.Context(), done: make(chan struct{})},
		&listenedTo{Context: t.Context(), done: make(chan struct{})}
	f := &fake{family: "fake", ways: map[string]way{"fake/right": right}, runs: map[string]int{}}
	for range 3 {
		result, err := Unrecorded(ctx, stop, f, Request{
			Operators: []*truth.Operator{o}, Impls: []string{"fake"}, InFlight: 1, Seed: op.DefaultSeed,
			Options: op.Options{
				DTypes: []string{"fp32"}, Passes: []op.Pass{op.Forward}, Distributions: []string{"normal"},
				Layouts: []string{"contiguous"}, Dims: map[string]int64{"rows": 3, "cols": 7}, Device: "cpu",
			},
		}, true)
		if err != nil || len(result.Records) == 0 {
			t.Fatalf("%d records, %v", len(result.Records), err)
		}
	}
	for name, c := range map[string]*listenedTo{"ctx": ctx, "stop": stop} {
		if c.most.Load() == 0 || c.listeners.Load() > 0 {
			t.Errorf("%s: %d listeners after three runs, at most %d: want 0, and some meanwhile", name,
				c.listeners.Load(), c.most.Load())
		}
	}
}
