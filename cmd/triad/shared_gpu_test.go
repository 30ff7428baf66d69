package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/machine"
	"triad/internal/op"
)

// TestOtherProcessesOnTheGPU: other processes that compute on the GPU are reported before anything is timed.
// The command's own workers do not count, nor does a process that has ended by then.
func TestOtherProcessesOnTheGPU(t *testing.T) {
	const warning = "other processes (2) compute on this GPU"
	for _, c := range []struct{ before, after bool }{{false, false}, {true, true}, {true, false}} {
		a, said := gpuApp(t, facts(9, 13000), nil)
		started := 0
		a.Telemetry = func(string, string) machine.Card {
			shared := c.before
			if started > 0 {
				shared = c.after
			}
			return &fakeCard{shared: shared, workers: func() int { return started }}
		}
		a.Rest = func(context.Context, time.Duration) {}
		a.Around = func([]backend.Backend) []backend.Backend {
			started = 3
			return []backend.Backend{&restless{source: "one", status: op.StatusCrash}}
		}
		a.execute([]string{
			"bench", "sum", "--dims", "n=4", "--dtype", "fp32", "--quick",
			"--db", filepath.Join(t.TempDir(), "r.db"),
		})
		if text := said.String(); strings.Contains(text, "other processes") != c.after ||
			c.after && !strings.Contains(text, warning) {
			t.Errorf("%+v:\n%s", c, text)
		}
	}
}
