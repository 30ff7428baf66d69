package worker

import (
	"strings"
	"testing"
	"time"

	"triad/internal/op"
)

// A worker that can never answer is not waited for until the deadline: one that has ended while a child of
// its own holds the socket, and one that was stopped.
func TestNeverAnswers(t *testing.T) {
	for mode, want := range map[string]struct {
		status op.Status
		says   string
	}{
		"ends behind a child": {op.StatusCrash, "exited 0 during run, before it answered"},
		"stops itself":        {op.StatusHang, "stopped by a signal during run"},
	} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			a := fakeAdapter(t, mode, func(o *Options) { o.Limits.FirstCPU = 10 * time.Minute })
			began := time.Now()
			got, err := a.Run(t.Context(), fakeJob())
			if err != nil || got.Status != want.status || !strings.Contains(got.Sentence, want.says) {
				t.Errorf("%v %q, %v, want %v with %q", got.Status, got.Sentence, err, want.status, want.says)
			}
			if took := time.Since(began); took > 2*time.Minute {
				t.Errorf("it took %v", took)
			}
		})
	}
}
