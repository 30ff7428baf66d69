package timing_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
)

// backwards returns a GPU whose implementations are backwards, each with the given start.
func backwards(t *testing.T, ns map[string]float64, from map[string]string) *gpu {
	g := newGPU(t, 0.003, ns)
	g.kind.Pass = op.Backward
	g.facts = func(name string, f *backend.PrepareReply) { f.Backward, f.Note = from[name], "so it is" }
	return g
}

// A backward that was timed with its forward is not compared with those that were timed alone: it has no
// roofline, and a ratio only to others of its kind.
func TestBackwardAlone(t *testing.T) {
	from := map[string]string{
		"fast": record.SavedTensors, "slow": record.RetainedGraph,
		"pair": record.ForwardBackward, "pairs": record.ForwardBackward,
	}
	g := backwards(t, map[string]float64{"fast": 1e5, "slow": 1.5e5, "pair": 2e4, "pairs": 3e5}, from)
	result := timeOn(t, g, coldPlan, nil)
	verdicts := map[string]string{}
	for _, c := range result.comparisons {
		if c.A != c.B {
			verdicts[c.A+" "+c.B] = c.SpeedVerdict
		}
	}
	if want := map[string]string{"slow fast": "SLOWER", "pairs pair": "SLOWER"}; !maps.Equal(verdicts, want) {
		t.Errorf("%v, want %v", verdicts, want)
	}
	for name, backward := range from {
		got := result.timing(t, name)
		told := strings.HasSuffix(got.Message, "so it is")
		if got.Backward != backward || got.Status != op.StatusPass || !told {
			t.Errorf("%s: %q, %v, %q", name, got.Backward, got.Status, got.Message)
		}
		if pair := backward == record.ForwardBackward; (got.Roofline == nil) != pair {
			t.Errorf("%s: roofline %v", name, got.Roofline)
		}
	}
}

// Backwards timed with their forwards get enough rounds for a verdict although all of them are far behind a
// backward alone, and are not charged to its budget.
func TestPairsHaveALeaderOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := map[string]string{
			"pair": record.ForwardBackward, "pairs": record.ForwardBackward,
			"slow pairs": record.ForwardBackward,
		}
		g := backwards(t, map[string]float64{
			"alone": 1e5, "near": 1.1e5, "pair": 6e6, "pairs": 6.6e6,
			"slow pairs": 6e7,
		}, from)
		g.card.TakesTime = true
		result := timeOn(t, g, secondPlan, nil)
		verdicts := map[string]string{}
		for _, c := range result.comparisons {
			if c.A != c.B {
				verdicts[c.A+" "+c.B] = c.SpeedVerdict
			}
		}
		want := map[string]string{"near alone": "SLOWER", "pairs pair": "SLOWER", "slow pairs pair": "SLOWER"}
		if !maps.Equal(verdicts, want) {
			t.Errorf("%v, want %v", verdicts, want)
		}
		for _, name := range []string{"alone", "near"} {
			if rounds := len(slices.Compact(slices.Clone(result.timing(t, name).Rounds))); rounds < 12 {
				t.Errorf("%s has %d rounds", name, rounds)
			}
		}
	})
}

// A worker's word for a backward is recorded only if it is a known one.
func TestBackwardWords(t *testing.T) {
	for said, want := range map[string]string{
		"":                   record.SavedTensors,
		record.SavedTensors:  record.SavedTensors,
		record.RetainedGraph: record.RetainedGraph, record.ForwardBackward: record.ForwardBackward,
		"'); DROP TABLE timing": "",
	} {
		g := backwards(t, map[string]float64{"one": 1e5}, map[string]string{"one": said})
		if got := timeOn(t, g, coldPlan, nil).timing(t, "one").Backward; got != want {
			t.Errorf("%q becomes %q, want %q", said, got, want)
		}
	}
}
