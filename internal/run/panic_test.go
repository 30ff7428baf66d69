package run

import (
	"context"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/tensor"
	"triad/internal/timing"
	"triad/internal/truth"
)

func panicking(tensor.Tensor, int, int) ([]float64, *backend.Outcome) { panic("planted") }

// brokenTelemetry panics when it is read, in the goroutine that watches a measurement.
type brokenTelemetry struct{}

func (brokenTelemetry) Read() timing.Reading { panic("planted") }

// panicsInCandidate is a GPU whose candidates panic when they are prepared.
type panicsInCandidate struct{ *timedFake }

func (panicsInCandidate) Measure(_ context.Context, job backend.MeasureJob) (
	backend.Candidate, backend.Outcome, error,
) {
	if job.Ceiling == "" {
		panic("planted")
	}
	return nil, backend.Outcome{Status: op.StatusUnsupported}, nil
}

// TestPanicsAreErrorsOfTheRun: a panic of any part of a run is the run's error, with what was being done;
// what was finished is kept.
func TestPanicsAreErrorsOfTheRun(t *testing.T) {
	timed := func() *timedFake { return timedFakes(t, 0.003, map[string]float64{"fake/right": 1e5}) }
	for _, c := range []struct {
		name      string
		backend   backend.Backend
		telemetry timing.Telemetry
		says      string
		records   int
	}{
		{
			"an implementation", fakes(map[string]way{"fake/right": right, "fake/wrong": panicking}), nil,
			"while running and judging fake/wrong on softmax forward fp32 rows=5,cols=33 normal while " +
				"working on softmax", 1,
		},
		{
			"telemetry", timed(),
			brokenTelemetry{},
			"while timing fake/right while timing what passed on softmax forward", 1,
		},
		{
			"a candidate",
			panicsInCandidate{timed()},
			nil,
			"while preparing the timed calls of fake/right while timing what passed on softmax forward", 1,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			o, err := truth.Get("softmax")
			if err != nil {
				t.Fatal(err)
			}
			kept := &memory{}
			r := &Runner{
				Backends: []backend.Backend{c.backend}, Recorder: kept, Timings: kept,
				Telemetry: c.telemetry, Stop: t.Context(),
			}
			result, err := r.Compare(t.Context(), Request{
				Operators: []*truth.Operator{o}, Seed: 1,
				Timing: &coldPlan, Options: op.Options{
					Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
					Dims:          map[string]int64{"rows": 5, "cols": 33},
					Distributions: []string{"normal"}, Layouts: []string{"contiguous"},
				},
			})
			if e := panics.In(err); e == nil || e.Value != "planted" ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
			if len(kept.records) != c.records || !result.Interrupted {
				t.Errorf("%d records, want %d; interrupted: %v", len(kept.records), c.records,
					result.Interrupted)
			}
		})
	}
}
