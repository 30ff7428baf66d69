package console

import (
	"context"
	"sync/atomic"
	"testing"
)

// TestEndsAtOnce: what ends first does not end it for what began meanwhile, and nothing is left behind.
func TestEndsAtOnce(t *testing.T) {
	c := &Console{AtOnce: &atomic.Int32{}}
	first := c.EndsAtOnce()
	second := c.EndsAtOnce()
	first()
	if c.AtOnce.Load() != 1 {
		t.Errorf("%d parts end at once, want the second", c.AtOnce.Load())
	}
	if second(); c.AtOnce.Load() != 0 {
		t.Errorf("%d parts end at once after all are over", c.AtOnce.Load())
	}
}

// TestAtFirstInterrupt: a Ctrl-C ends what runs. Once the part is over, one ends nothing that was left, and
// nothing of the part stays registered with the command's context.
func TestAtFirstInterrupt(t *testing.T) {
	stop, interrupt := context.WithCancel(t.Context())
	c := &Console{AtOnce: &atomic.Int32{}, Stop: stop}
	within, over := c.AtFirstInterrupt(t.Context())
	interrupt()
	<-within.Done()
	over()

	c.Stop, interrupt = context.WithCancel(t.Context())
	within, over = c.AtFirstInterrupt(t.Context())
	if over(); within.Err() == nil {
		t.Error("the context of a part that is over is still registered")
	}
	ctx, end := context.WithCancel(t.Context())
	within, over = c.UntilInterrupt(ctx)
	over()
	interrupt()
	if within.Err() != nil {
		t.Error("a Ctrl-C ended what a part left in the background")
	}
	if end(); within.Err() == nil || c.AtOnce.Load() != 0 {
		t.Errorf("in the background: %v, and %d parts end at once", within.Err(), c.AtOnce.Load())
	}
}
