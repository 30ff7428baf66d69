package run

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/stats"
)

// A backward that was timed with its forward is no contender of those that were timed alone: it has no roofline, and a ratio to its like only.
func TestBackwardAlone(t *testing.T) {
	kept := &memory{}
	h := &heat{execution: &execution{Runner: &Runner{Timings: kept}, result: &Result{}}, regime: Regime{Cold: true}, done: 12}
	timings := map[*contender]*record.Timing{}
	rulers := stats.Rulers{Copy: 1e12, Read: 1e12, Write: 1e12}
	for _, of := range []struct {
		name, backward string
		ns             float64
	}{{"fast", record.SavedTensors, 1e5}, {"slow", record.RetainedGraph, 1.5e5}, {"pair", record.ForwardBackward, 2e4}, {"pairs", record.ForwardBackward, 3e5}} {
		k := &contender{record: &record.Record{ID: of.name}, backward: of.backward, note: "so it is"}
		k.implementation.Name = of.name
		for round := range h.done {
			for i := range 3 {
				k.samples, k.clocks = append(k.samples, of.ns*(1+float64(i+round)/1e4)), append(k.clocks, 1980)
				k.rounds, k.positions = append(k.rounds, round), append(k.positions, 0)
			}
		}
		timing := k.summarise(h.regime, rulers, stats.Limits{}, stats.Work{Bytes: 1000, BytesRead: 500, BytesWritten: 500})
		if timing.Backward != of.backward || timing.Status != op.StatusPass || (timing.Roofline == nil) != k.pair() {
			t.Errorf("%s: %q, %v, roofline %v", of.name, timing.Backward, timing.Status, timing.Roofline)
		}
		h.contenders, timings[k] = append(h.contenders, k), &timing
	}
	if err := h.recordHeat(h, timings); err != nil {
		t.Fatal(err)
	}
	words := map[string]string{}
	for _, c := range h.result.Comparisons {
		words[c.A+" "+c.B] = c.Word
	}
	if want := map[string]string{"slow fast": "SLOWER", "pairs pair": "SLOWER"}; !maps.Equal(words, want) {
		t.Errorf("%v, want %v", words, want)
	}
	if len(kept.timings) != 4 || kept.timings[1].Message != "so it is" {
		t.Errorf("recorded: %+v", kept.timings)
	}
}

// Backwards with their forwards get the rounds of a word although all of them are far behind a backward
// alone, and what they take is not taken from its budget.
func TestPairsHaveALeaderOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := timedFakes(t, 0.003, nil)
		f.takesTime = true
		h := &heat{execution: &execution{Runner: &Runner{}, result: &Result{}}, regime: Regime{Cold: true},
			plan: TimingPlan{Rounds: 60, Budget: time.Second}}
		timings := map[*contender]*record.Timing{}
		for _, of := range []struct {
			name, backward string
			ns             float64
		}{{"alone", record.SavedTensors, 1e5}, {"near", record.SavedTensors, 1.1e5},
			{"pair", record.ForwardBackward, 6e6}, {"pairs", record.ForwardBackward, 6.6e6},
			{"slow pairs", record.ForwardBackward, 6e7}} {
			k := &contender{record: &record.Record{ID: of.name}, backward: of.backward}
			k.arm = &fakeArm{fake: f, name: of.name, ns: of.ns,
				facts: backend.PrepareReply{Mode: "graph", Calls: 2, EstimateNS: of.ns}}
			k.implementation.Name = of.name
			h.contenders = append(h.contenders, k)
		}
		if err := h.run(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, k := range h.contenders {
			timing := k.summarise(h.regime, stats.Rulers{}, stats.Limits{}, stats.Work{})
			timings[k] = &timing
		}
		words := map[string]string{}
		for _, c := range h.compare(timings) {
			words[c.A+" "+c.B] = c.Word
		}
		want := map[string]string{"near alone": "SLOWER", "pairs pair": "SLOWER", "slow pairs pair": "SLOWER"}
		if !maps.Equal(words, want) {
			t.Errorf("%v, want %v", words, want)
		}
		for _, k := range h.contenders[:2] {
			if rounds := len(slices.Compact(slices.Clone(k.rounds))); rounds < settledRounds {
				t.Errorf("%s has %d rounds", k.implementation.Name, rounds)
			}
		}
	})
}

// What a worker says of a backward is recorded where it is one of the words that there are.
func TestBackwardWords(t *testing.T) {
	for said, want := range map[string]string{"": record.SavedTensors, record.SavedTensors: record.SavedTensors, record.RetainedGraph: record.RetainedGraph,
		record.ForwardBackward: record.ForwardBackward, "'); DROP TABLE timing": ""} {
		if got := backwardOf(backend.PrepareReply{Backward: said}); got != want {
			t.Errorf("%q becomes %q, want %q", said, got, want)
		}
	}
}
