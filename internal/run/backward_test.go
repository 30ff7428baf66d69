package run

import (
	"maps"
	"testing"

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

// What a worker says of a backward is recorded where it is one of the words that there are.
func TestBackwardWords(t *testing.T) {
	for said, want := range map[string]string{"": record.SavedTensors, record.SavedTensors: record.SavedTensors, record.RetainedGraph: record.RetainedGraph,
		record.ForwardBackward: record.ForwardBackward, "'); DROP TABLE timing": ""} {
		if got := backwardOf(backend.PrepareReply{Backward: said}); got != want {
			t.Errorf("%q becomes %q, want %q", said, got, want)
		}
	}
}
