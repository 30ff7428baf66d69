package worker

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/panics"
)

// A panic while another slot's worker is started, which nobody waits for, is the error of the next request,
// and blames no implementation.
func TestPanicBesideARequest(t *testing.T) {
	a := fakeAdapter(t, "good", nil)
	start := a.Command
	var commands atomic.Int64
	a.Slots = []string{"other"}
	a.Command = func(ctx context.Context) (Command, error) {
		if commands.Add(1) > 1 {
			panic("planted")
		}
		return start(ctx)
	}
	if _, _, err := a.Load(t.Context(), "softmax"); err != nil {
		t.Fatal(err)
	}
	for a.faulted() == nil {
		time.Sleep(time.Millisecond)
	}
	if _, err := a.Run(t.Context(), backend.Job{Implementation: backend.Implementation{
		Name: "fake/one",
		Op:   "softmax",
	}}); panics.In(err) == nil {
		t.Errorf("%v, want the internal error", err)
	}
}
