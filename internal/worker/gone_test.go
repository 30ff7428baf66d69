package worker

import (
	"context"
	"errors"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// When a card disappears between jobs, the earlier job keeps its result, the next one reports that there is
// no GPU any more, and those after it start no further process.
func TestCardDisappears(t *testing.T) {
	a := fakeAdapter(t, "exits 0", nil)
	a.GPU = true
	a.Explain = func(printed string) string {
		if strings.Contains(printed, "no usable device") {
			return "the NVIDIA driver finds no GPU"
		}
		return ""
	}
	first, starts := a.Command, 0
	a.Command = func(ctx context.Context) (Command, error) {
		c, err := first(ctx)
		if starts++; starts > 1 {
			c.Env = fakeEnvironment("dies before hello")
		}
		return c, err
	}
	if outcome, err := a.Run(t.Context(), fakeJob()); err != nil || outcome.Status != op.StatusCrash {
		t.Fatalf("%+v, %v", outcome, err)
	}
	for range 3 {
		_, err := a.Run(t.Context(), fakeJob())
		var u *backend.Unavailable
		if !errors.As(err, &u) || u.Sentence != "the NVIDIA driver finds no GPU" {
			t.Errorf("%v", err)
		}
	}
	if starts != 2 {
		t.Errorf("%d processes were started, want 2", starts)
	}
}
