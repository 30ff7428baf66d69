package run

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/truth"
)

// TestBenchResumes: a resumed bench times all implementations of a case again if one of them has no time yet,
// and skips complete cases.
func TestBenchResumes(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/one": 1e5, "fake/two": 2e5})
	whole, _ := bench(t, f, coldPlan)
	if len(whole.Records) != 2 {
		t.Fatalf("%d records", len(whole.Records))
	}
	o := rowOperator(t)
	run := func(done []string, before []record.Record) (Result, *memory) {
		kept := &memory{done: map[string]bool{}}
		for _, name := range done {
			kept.done[name] = true
		}
		f.runs = map[string]int{}
		r := &Runner{
			Backends: []backend.Backend{f}, Recorder: kept, Timings: kept,
			Stop: context.Background(),
		}
		result, err := r.Bench(t.Context(), Request{
			Operators: []*truth.Operator{o}, Seed: 1, Timing: &coldPlan, Before: before,
			Options: op.Options{
				Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
				Dims: map[string]int64{"rows": 5, "cols": 33},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return result, kept
	}
	both := []string{"fake/one", "fake/two"}
	if result, kept := run(both, whole.Records); len(kept.timings) != 0 || len(result.Records) != 0 {
		t.Errorf("complete: %d timings, %d records", len(kept.timings), len(result.Records))
	}
	half := slices.Clone(whole.Records)
	half[1].Timings = nil
	result, kept := run(both, half)
	if len(kept.timings) != 2 || f.runs["fake/one"] != 2 || f.runs["fake/two"] != 1 {
		// what the timed calls wrote, of the fastest and of its twin
		t.Errorf("one without a time: %d timings, runs %v", len(kept.timings), f.runs)
	}
	for _, r := range result.Records {
		if len(r.Timings) != 1 {
			t.Errorf("%s has %d timings", r.Impl, len(r.Timings))
		}
	}
	result, kept = run(both[:1], whole.Records[:1])
	if len(kept.timings) != 2 || len(kept.records) != 1 || kept.records[0].Impl != "fake/two" ||
		speedVerdictOf(result, "fake/two", "fake/one") != "SLOWER" {
		t.Errorf("one not run: %d timings, %d records, %+v", len(kept.timings), len(kept.records),
			result.Comparisons)
	}
}

// TestPowerOfAResumedRun: a resumed run counts the power of the cases that the interrupted one had judged,
// like a whole run.
func TestPowerOfAResumedRun(t *testing.T) {
	o := rowOperator(t)
	run := func(done map[string]bool, before []record.Record) Result {
		r := &Runner{
			Backends: []backend.Backend{fakes(map[string]way{"fake/right": right})},
			Recorder: &memory{done: done}, Stop: t.Context(),
		}
		result, err := r.Compare(t.Context(), Request{
			Operators: []*truth.Operator{o}, Seed: 1, Before: before,
			Options: op.Options{
				Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
				Distributions: []string{"normal", "zeros", "constant"},
				Dims:          map[string]int64{"rows": 5, "cols": 33},
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	whole := run(nil, nil)
	if p := whole.Power; p.Cases == 0 || len(p.Trivial) == 0 {
		t.Fatalf("%d cases, %d trivial: want some of each", p.Cases, len(p.Trivial))
	}
	resumed := run(map[string]bool{"fake/right": true}, whole.Records)
	if len(resumed.Records) != 0 || !reflect.DeepEqual(resumed.Power, whole.Power) {
		t.Errorf("%d records, %d cases with power or without, %d trivial, want none, %d and %d",
			len(resumed.Records), resumed.Power.Cases, len(resumed.Power.Trivial), whole.Power.Cases,
			len(whole.Power.Trivial))
	}
}

// TestPowerOfRecords: a case is powerless if an implementation passed without power; one whose outputs were
// never compared says nothing.
func TestPowerOfRecords(t *testing.T) {
	o := rowOperator(t)
	plan, err := o.Spec.Expand(op.Options{Dims: map[string]int64{"cols": 33}})
	if err != nil {
		t.Fatal(err)
	}
	of := func(status op.Status, compared int64) record.Record {
		return record.Record{Status: status, Outputs: []record.Verdict{{Status: status, NCompared: compared}}}
	}
	w := work{operator: o, Case: plan.Cases[0]}
	for name, c := range map[string]struct {
		records          []record.Record
		cases, powerless int
	}{
		"one passes":       {[]record.Record{of(op.StatusFail, 9), of(op.StatusPass, 9)}, 1, 0},
		"one has no power": {[]record.Record{of(op.StatusFail, 9), of(op.StatusNoPower, 9)}, 1, 1},
		"none is compared": {[]record.Record{of(op.StatusEmptyOK, 0), {Status: op.StatusUnsupported}}, 0, 0},
	} {
		var p Power
		if p.addRecorded(w, c.records); p.Cases != c.cases || len(p.Powerless) != c.powerless {
			t.Errorf("%s: %d cases, %d powerless, want %d and %d", name, p.Cases, len(p.Powerless), c.cases,
				c.powerless)
		}
	}
}

// rowOperator returns an operator on rows and columns.
func rowOperator(t *testing.T) *truth.Operator {
	t.Helper()
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	return o
}
