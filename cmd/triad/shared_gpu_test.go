package main

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
)

// TestOtherProcessesOnTheGPU: other processes that compute on the GPU are reported before anything is timed;
// the command's own workers do not count.
func TestOtherProcessesOnTheGPU(t *testing.T) {
	const warning = "other processes (2) compute on this GPU"
	for _, shared := range []bool{false, true} {
		a, said := gpuApp(t, facts(9, 13000), nil)
		workers := 0
		a.telemetry = func(string, string) card {
			return &fakeCard{shared: shared, workers: func() int { return workers }}
		}
		a.rest = func(context.Context, time.Duration) {}
		a.around = func([]backend.Backend) []backend.Backend {
			workers = 3
			return []backend.Backend{&restless{source: "one", status: op.StatusCrash}}
		}
		a.execute([]string{
			"bench", "sum", "--dims", "n=4", "--dtype", "fp32", "--quick",
			"--db", filepath.Join(t.TempDir(), "r.db"),
		})
		if text := said.String(); strings.Contains(text, "other processes") != shared ||
			shared && !strings.Contains(text, warning) {
			t.Errorf("shared %v:\n%s", shared, text)
		}
	}
}
