package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/timing"
	"triad/internal/truth"
)

// TestBenchWithoutAPlan: a bench without a plan of timing judges the bench points, and times nothing.
func TestBenchWithoutAPlan(t *testing.T) {
	f := timedFakes(t, 0, map[string]float64{"fake/good": 1e5, "fake/wrong": 1e5})
	f.ways["fake/wrong"] = zeros
	result, kept := benchBy(t, f, nil)
	found := map[string]op.Status{}
	for _, rec := range result.Records {
		found[rec.Impl] = rec.Status
	}
	if len(found) != 2 || found["fake/good"] != op.StatusPass || found["fake/wrong"] != op.StatusFail {
		t.Errorf("%v", found)
	}
	if len(kept.timings)+len(kept.ceilings)+len(f.card.Order) > 0 {
		t.Errorf("timed: %d timings, %d ceilings, %v", len(kept.timings), len(kept.ceilings), f.card.Order)
	}
}

// TestTimedBackwardWhoseForwardFails: a backward whose own forward ran before the session was resumed, and
// now fails, is timed with that failure.
func TestTimedBackwardWhoseForwardFails(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Spec.Expand(op.Options{
		Level: op.LevelQuick, Passes: []op.Pass{op.Backward}, DTypes: []string{"fp32"},
		Dims: map[string]int64{"rows": 5, "cols": 33}, Distributions: []string{"normal"},
		Saved: []string{"own"},
	})
	if err != nil || len(plan.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(plan.Cases), err)
	}
	e := entry{
		backend: endsWith{outcome: backend.Outcome{Status: op.StatusCrash, Sentence: "exited 7"}},
		implementation: backend.Implementation{
			Name: "fake/row", Op: "softmax", Pass: op.Backward,
			Contract: "fp32", Device: "gpu",
		},
	}
	x := &execution{Runner: &Runner{}, request: Request{Seed: 1}, result: &Result{}}
	c, err := x.prepare(work{operator: o, Case: plan.Cases[0], entries: []entry{e}})
	if err != nil {
		t.Fatal(err)
	}
	kept := &memory{}
	x.timer = &timing.Timer{Plan: coldPlan, Recorder: kept}
	records := []*record.Record{{Case: c.Case, Impl: "fake/row", Device: "gpu", Status: op.StatusPass}}
	if err := x.time(t.Context(), c, records); err != nil {
		t.Fatal(err)
	}
	if len(kept.timings) != 1 {
		t.Fatalf("%+v", kept.timings)
	}
	if got := kept.timings[0]; got.Status != op.StatusCrash ||
		got.Message != "its forward fake/row: exited 7" {
		t.Errorf("%v %q", got.Status, got.Message)
	}
}

// unmeasurable is a backend that cannot measure a time.
type unmeasurable struct{ *fake }

func (unmeasurable) Measure(context.Context, backend.MeasureJob) (backend.Candidate, backend.Outcome, error) {
	return nil, backend.Outcome{}, errors.New("its worker does not start")
}

// surveyed surveys the calls of a backend.
func surveyed(t *testing.T, stop context.Context, b backend.Backend, o op.Options) (Survey, error) {
	t.Helper()
	softmax, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	o.DTypes, o.Distributions, o.Layouts = []string{"fp32"}, []string{"normal"}, []string{"contiguous"}
	r := &Runner{Backends: []backend.Backend{b}, Recorder: &memory{}, Stop: stop}
	return r.Survey(t.Context(), Request{Operators: []*truth.Operator{softmax}, Seed: 1, Options: o})
}

// TestSurveyEnds: a survey that cannot ask ends with the reason; one that is stopped asks no further.
func TestSurveyEnds(t *testing.T) {
	o := op.Options{Passes: []op.Pass{op.Forward}}
	if _, err := surveyed(t, t.Context(), unmeasurable{fakes(map[string]way{"fake/a": right})},
		o); err == nil || !strings.Contains(err.Error(), "does not start") {
		t.Errorf("%v", err)
	}
	stop, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := surveyed(t, stop, unmeasurable{fakes(map[string]way{"fake/a": right})}, o); err != nil ||
		len(s.Reached) > 0 {
		t.Errorf("after a stop: %v, %d calls", err, len(s.Reached))
	}
}

// TestSurveyOfAChainedBackward: a backward whose own forward gives nothing launches nothing.
func TestSurveyOfAChainedBackward(t *testing.T) {
	g := &gradients{forwards: map[string]backend.OutputRef{"fake/absent": {Name: "y"}}}
	g.row("fake/absent", "gpu")
	o := op.Options{
		Passes: []op.Pass{op.Backward}, Dims: map[string]int64{"rows": 5, "cols": 33},
		Saved: []string{"own"},
	}
	if s, err := surveyed(t, t.Context(), g, o); err != nil || len(s.Reached) > 0 {
		t.Errorf("%v, %+v", err, slices.Clip(s.Reached))
	}
}

// TestWorkOfGroupsWithoutRows: what belongs to groups without rows, such as their matrices, does not count as
// bytes that a pass must read. A kernel that skips it is not called impossibly fast.
func TestWorkOfGroupsWithoutRows(t *testing.T) {
	// one group has every row; rows are the first dim
	cut := op.Options{Level: op.LevelQuick, Distributions: []string{"outlier"}}
	chosen := op.Options{
		Level: op.LevelQuick, Distributions: []string{"integers"}, Attributes: map[string]string{"top": "1"},
		Saved: []string{"driver"},
	}
	for _, o := range truth.All() {
		if o.Spec.Costs.Parts == "" {
			continue
		}
		options, skipped := chosen, 0
		if _, offsets := o.Spec.Input(o.Spec.Costs.Parts); offsets {
			options = cut
		}
		plan, err := o.Spec.Expand(options)
		if err != nil || len(plan.Cases) == 0 {
			t.Fatalf("%s: %d cases, %v", o.Spec.Name, len(plan.Cases), err)
		}
		for _, c := range plan.Cases {
			x := &execution{Runner: &Runner{}, request: Request{Seed: 1}, result: &Result{}}
			p, err := x.prepare(work{operator: o, Case: c})
			if err != nil {
				t.Fatal(err)
			}
			want, _, err := o.Spec.CostOfParts(c, min(c.Dims[0].Value, 1))
			if err != nil {
				t.Fatal(err)
			}
			if got, err := workOf(p); err != nil || got.Bytes != want {
				t.Errorf("%s: %d bytes (%v), want %d", describe(c), got.Bytes, err, want)
			}
			if all, _, err := o.Spec.Cost(c); err == nil && all > want {
				skipped++
			}
		}
		if skipped == 0 {
			t.Errorf("%s: no case has groups without rows", o.Spec.Name)
		}
	}
}

// TestProductDType: an operator that quantises what it multiplies has the ceiling of these products, under
// which a right kernel is not too fast to be true.
func TestProductDType(t *testing.T) {
	quantise := 0
	for _, operator := range truth.All() {
		w := work{operator: operator, Case: op.Case{DType: "bf16"}}
		want := backend.CeilingBF16
		if operator.Spec.Costs.Products != "" {
			want = backend.CeilingFP8
			quantise++
		}
		if got := timing.Product(w.productDType()); got != want {
			t.Errorf("%s: %s, want %s", operator.Spec.Name, got, want)
		}
	}
	if quantise == 0 {
		t.Error("no operator multiplies in another dtype than its own")
	}
}
