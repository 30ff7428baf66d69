package timing_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/stats"
	"triad/internal/timing"
	"triad/internal/timing/timingtest"
)

// gpu is a fake backend whose calls take given times, and a recorder that keeps nothing.
type gpu struct {
	backend.Backend // nil: nothing but Measure is asked of it
	card            *timingtest.Card
	ns              map[string]float64         // of one call, by implementation
	without         []string                   // ceilings that it does not have
	ends            map[string]backend.Outcome // what a measurement ends with
	jobs            map[string]backend.Outcome // what comes in place of a call
	refuses         map[string]backend.Outcome // what preparing a call ends with
	once            bool                       // no call is prepared a second time
	prepared        map[string]bool
	written         map[string]backend.Outcome // the results of Finish
	differing       map[string][]backend.Differing
	facts           func(name string, f *backend.PrepareReply) // changes the facts of a call
	kind            backend.Implementation                     // pass and such of all implementations
	open            atomic.Int64                               // candidates that are not finished
	telemetry       timing.Telemetry                           // nil: of the card
}

func newGPU(t *testing.T, noise float64, ns map[string]float64) *gpu {
	return &gpu{card: timingtest.NewCard(t, noise), ns: ns}
}

func (g *gpu) Name() string { return "gpu" }

func (g *gpu) Measure(_ context.Context, job backend.MeasureJob) (backend.Candidate, backend.Outcome, error) {
	name, ns, facts := g.card.Asked(job, g.ns)
	if ns == 0 || slices.Contains(g.without, job.Ceiling) {
		return nil, backend.Outcome{Status: op.StatusUnsupported, Sentence: "it cannot be timed"}, nil
	}
	if outcome, refuses := g.refuses[name]; refuses {
		return nil, outcome, nil
	}
	if g.once && g.prepared[name] && job.Ceiling == "" {
		return nil, backend.Outcome{Status: op.StatusOOM, Sentence: "no room for a second candidate"}, nil
	}
	if g.prepared == nil {
		g.prepared = map[string]bool{}
	}
	g.prepared[name] = true
	if g.facts != nil {
		g.facts(name, &facts)
	}
	candidate := &timingtest.Candidate{Card: g.card, Name: name, NS: ns, Prepared: facts}
	if end, ends := g.ends[name]; ends {
		candidate.End = &end
	}
	g.open.Add(1)
	candidate.Written = func() (backend.Outcome, []backend.Differing, error) {
		g.open.Add(-1)
		return g.written[name], g.differing[name], nil
	}
	return candidate, backend.Outcome{}, nil
}

func (*gpu) AppendTiming(string, record.Timing) error    { return nil }
func (*gpu) AppendCeilings([]record.Ceiling) error       { return nil }
func (*gpu) AppendComparisons([]record.Comparison) error { return nil }

// result is the outcome of timing one case.
type result struct {
	records     []record.Record
	comparisons []record.Comparison
}

// wrong maps an implementation to the status of what its timed calls wrote.
type wrong map[string]op.Status

// timeOn times every implementation of a GPU on one case, in the order of their names.
func timeOn(t *testing.T, g *gpu, plan timing.Plan, judged wrong) result {
	t.Helper()
	timer := &timing.Timer{Plan: plan, Recorder: g, Telemetry: g.telemetry, Rest: g.card.Rest}
	if timer.Telemetry == nil {
		timer.Telemetry = g.card
	}
	if _, err := timer.MeasureCeilings(t.Context(), []backend.Backend{g}, nil, []string{"fp32"}); err != nil {
		t.Fatal(err)
	}
	of := timing.Case{
		Case: op.Case{Op: "softmax", DType: "fp32"},
		Work: stats.Work{Bytes: 1320, BytesRead: 660, BytesWritten: 660, Product: backend.CeilingFP32},
	}
	var names []string
	for name := range g.ns {
		names = append(names, name)
	}
	slices.Sort(names)
	r := result{records: make([]record.Record, len(names))}
	for i, name := range names {
		kind := g.kind
		kind.Name = name
		r.records[i] = record.Record{ID: name, Impl: name, Device: "gpu", Status: op.StatusPass}
		of.Impls = append(of.Impls, timing.Impl{
			Implementation: kind, Backend: g, Record: &r.records[i],
			Job: func(context.Context) (backend.Job, backend.Outcome, error) {
				return backend.Job{Implementation: kind}, g.jobs[name], nil
			},
			Judge: func(backend.Outcome) (op.Status, string) {
				return judged[name], "what the timed calls wrote"
			},
		})
	}
	var err error
	if r.comparisons, err = timer.Time(t.Context(), of); err != nil {
		t.Fatal(err)
	}
	if open := g.open.Load(); open != 0 {
		t.Errorf("%d candidates were not finished", open)
	}
	return r
}

var coldPlan = timing.Plan{Regimes: []timing.Regime{{Cold: true}}, Rounds: 60, Budget: time.Minute}

func (r result) timing(t *testing.T, impl string) record.Timing {
	t.Helper()
	for _, rec := range r.records {
		if rec.Impl == impl && len(rec.Timings) > 0 {
			return rec.Timings[0]
		}
	}
	t.Fatalf("%s has no timing", impl)
	return record.Timing{}
}

func (r result) verdict(a, b string) string {
	for _, c := range r.comparisons {
		if c.A == a && c.B == b {
			return c.SpeedVerdict
		}
	}
	return ""
}
