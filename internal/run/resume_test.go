package run

import (
	"context"
	"slices"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/truth"
)

// A resumed bench times a case again as a whole where one of its implementations has no time yet, and leaves
// alone what is complete.
func TestBenchResumes(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/one": 1e5, "fake/two": 2e5})
	whole, _ := bench(t, f, coldPlan)
	if len(whole.Records) != 2 {
		t.Fatalf("%d records", len(whole.Records))
	}
	o, _ := truth.Get("softmax")
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
		wordOf(result, "fake/two", "fake/one") != "SLOWER" {
		t.Errorf("one not run: %d timings, %d records, %+v", len(kept.timings), len(kept.records),
			result.Comparisons)
	}
}
