package run

import (
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/truth"
)

// TestTimingNeedsARecorder: a runner that is to time without a recorder of timings fails before anything
// runs.
func TestTimingNeedsARecorder(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/right": 1e5})
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	kept := &memory{}
	r := &Runner{Backends: []backend.Backend{f}, Recorder: kept, Stop: t.Context()}
	request := Request{Operators: []*truth.Operator{o}, Seed: 1, Timing: &coldPlan, Options: op.Options{
		Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
		Dims: map[string]int64{"rows": 5, "cols": 33},
	}}
	for name, run := range map[string]func() error{
		"Compare": func() error { _, err := r.Compare(t.Context(), request); return err },
		"Bench":   func() error { _, err := r.Bench(t.Context(), request); return err },
	} {
		if err := run(); err == nil || !strings.Contains(err.Error(), "no recorder of timings") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if len(kept.records) > 0 || len(f.runs) > 0 {
		t.Errorf("%d records, runs %v", len(kept.records), f.runs)
	}
}
