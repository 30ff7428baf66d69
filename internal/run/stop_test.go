package run

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/timing"
	"triad/internal/truth"
)

// smallIsLarge makes the truth of a small test case be computed row by row, while it is judged.
func smallIsLarge(t *testing.T) {
	before := keptElements
	keptElements = 1 << 10
	t.Cleanup(func() { keptElements = before })
}

// stopping gives right results, and stops the run in its n-th job.
func stopping(stop func(), n int) way {
	return func(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
		if run+1 == n {
			stop()
		}
		return right(x, launch, run)
	}
}

// TestStopEndsTheJudgingOfALargeCase: a run that is stopped while a large case is judged, before it is timed
// or after, ends, and records nothing that was judged in part: a resumed run does that. What was judged
// before stays.
func TestStopEndsTheJudgingOfALargeCase(t *testing.T) {
	smallIsLarge(t)
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]struct {
		at               int
		records, timings int
	}{
		"while it is judged":                         {1, 0, 0},
		"while what the timed calls wrote is judged": {2, 1, 0},
		"never": {9, 1, 2},
	} {
		t.Run(name, func(t *testing.T) {
			stop, cancel := context.WithCancel(t.Context())
			defer cancel()
			f := timedFakes(t, 0.003, map[string]float64{"fake/right": 1e5})
			f.card.Random = rand.New(rand.NewPCG(1, 2))
			f.ways["fake/right"] = stopping(cancel, of.at)
			// Other bits than those that were judged: they are judged again.
			other := func(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
				y, outcome := stopping(cancel, of.at)(x, launch, run)
				y[0] *= 1 + 1e-7
				return y, outcome
			}
			f.after = map[string]way{"fake/right": other}
			kept := &memory{}
			r := &Runner{Backends: []backend.Backend{f}, Recorder: kept, Timings: kept, Stop: stop}
			plan := coldPlan
			plan.Regimes = []timing.Regime{{Cold: true}, {}}
			result, err := r.Bench(t.Context(), Request{
				Operators: []*truth.Operator{o}, Seed: 1, Timing: &plan,
				Options: op.Options{
					Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
					Dims: map[string]int64{"rows": 64, "cols": 100},
				},
			})
			if err != nil || result.Interrupted != (stop.Err() != nil) {
				t.Fatalf("interrupted %v, %v", result.Interrupted, err)
			}
			if len(kept.records) != of.records || len(kept.timings) != of.timings {
				t.Errorf("%d records and %d timings, want %d and %d: %+v", len(kept.records),
					len(kept.timings),
					of.records, of.timings, kept.records)
			}
			if open := f.open.Load(); open != 0 {
				t.Errorf("%d candidates were not finished", open)
			}
		})
	}
}

// TestStopLeavesALargeComparison: a comparison that is stopped leaves a large case as well, but finishes a
// small one.
func TestStopLeavesALargeComparison(t *testing.T) {
	for name, of := range map[string]struct {
		kept    int64
		records int
	}{"large": {1 << 4, 0}, "small": {1 << 24, 1}} {
		t.Run(name, func(t *testing.T) {
			before := keptElements
			keptElements = of.kept
			defer func() { keptElements = before }()
			stop, cancel := context.WithCancel(t.Context())
			defer cancel()
			o, err := truth.Get("softmax")
			if err != nil {
				t.Fatal(err)
			}
			kept := &memory{}
			b := fakes(map[string]way{"fake/right": stopping(cancel, 1)})
			r := &Runner{Backends: []backend.Backend{b}, Recorder: kept, Stop: stop}
			result, err := r.Compare(t.Context(), Request{
				Operators: []*truth.Operator{o}, Seed: 1, Single: true,
				InFlight: 1, Options: op.Options{
					Level: op.LevelQuick, Passes: []op.Pass{op.Forward},
					DTypes: []string{"fp32"}, Dims: map[string]int64{"rows": 5, "cols": 33},
					Distributions: []string{"normal"}, Layouts: []string{"contiguous"},
				},
			})
			if err != nil || len(kept.records) != of.records || result.Interrupted != (of.records == 0) {
				t.Errorf("%d records, want %d; interrupted %v, %v", len(kept.records), of.records,
					result.Interrupted, err)
			}
		})
	}
}

// TestStopLeavesALargeCaseUnprepared: a stopped run leaves a large case that is not prepared yet: one that
// would be judged and timed, and one that was judged already.
func TestStopLeavesALargeCaseUnprepared(t *testing.T) {
	smallIsLarge(t)
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	for name, of := range map[string]struct {
		verb    func(*Runner, context.Context, Request) (Result, error)
		at      func(Progress) bool
		records int
	}{
		"bench": {(*Runner).Bench, func(p Progress) bool { return p.Cases > 0 }, 0},
		"compare": {
			(*Runner).Compare,
			func(p Progress) bool { return strings.HasPrefix(p.Text, "timing what passes") }, 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			stop, cancel := context.WithCancel(t.Context())
			defer cancel()
			f := timedFakes(t, 0.003, map[string]float64{"fake/right": 1e5})
			kept := &memory{}
			r := &Runner{Backends: []backend.Backend{f}, Recorder: kept, Timings: kept, Stop: stop}
			r.Progress = func(p Progress) {
				if of.at(p) {
					cancel()
				}
			}
			result, err := of.verb(r, t.Context(), Request{
				Operators: []*truth.Operator{o}, Seed: 1, Single: true,
				Timing: &coldPlan, Options: op.Options{
					Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
					Dims:          map[string]int64{"rows": 64, "cols": 100},
					Distributions: []string{"normal"}, Layouts: []string{"contiguous"},
				},
			})
			if err != nil || !result.Interrupted || len(kept.records) != of.records || len(kept.timings) > 0 {
				t.Errorf("%d records, want %d; %d timings; interrupted %v, %v", len(kept.records), of.records,
					len(kept.timings), result.Interrupted, err)
			}
		})
	}
}

// TestStopEndsTheTruth: after a stop no row of a truth is computed, and no large case is prepared.
func TestStopEndsTheTruth(t *testing.T) {
	smallIsLarge(t)
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Spec.Expand(op.Options{
		Level: op.LevelQuick, Passes: []op.Pass{op.Forward},
		DTypes: []string{"fp32"}, Dims: map[string]int64{"rows": 64, "cols": 100},
		Distributions: []string{"normal"},
	})
	if err != nil || len(plan.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(plan.Cases), err)
	}
	stop, cancel := context.WithCancel(t.Context())
	x := &execution{Runner: &Runner{Stop: stop}, request: Request{Seed: 1}, result: &Result{}}
	c, err := x.prepare(work{operator: o, Case: plan.Cases[0]})
	if err != nil {
		t.Fatal(err)
	}
	truth, err := c.truth("fp32")
	if err != nil || truth.Outputs[0].Rows == nil {
		t.Fatalf("%v, want a truth by rows", err)
	}
	n := 100
	room := func() []float64 { return make([]float64, n) }
	into := judge.Values{R: room(), T: room(), TFP32: room(), Sim: room()}
	fill := truth.Outputs[0].Rows.Fill()
	if err := fill(into, 0, 1); err != nil {
		t.Errorf("before the stop: %v", err)
	}
	cancel()
	if err := fill(into, 1, 2); !errors.Is(err, errLeft) {
		t.Errorf("after the stop: %v", err)
	}
	if _, err := x.prepare(work{operator: o, Case: plan.Cases[0]}); !errors.Is(err, errLeft) {
		t.Errorf("prepared after the stop: %v", err)
	}
}
