package timing_test

import (
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// Sets of the same inputs get the same bits; otherwise the message says where not, and whether the inputs
// changed.
func TestTimedSetsAreAlike(t *testing.T) {
	g := newGPU(t, 0.003, map[string]float64{"other": 1e4, "writes": 2e4, "right": 1e5})
	g.differing = map[string][]backend.Differing{
		"other":  {{Output: "y", Set: 3, Bytes: 12}},
		"writes": {{Output: "y", Set: 1, Bytes: 2, Inputs: []string{"x"}}},
	}
	result := timeOn(t, g, coldPlan, nil)
	for name, want := range map[string]string{
		"other":  "other bits of y in set 4 of the same inputs than in the first: 12 bytes differ",
		"writes": "than in the first: 2 bytes differ, and its x, which a call may not write to, changed",
	} {
		got := result.timing(t, name)
		if got.Status != op.StatusFail || !strings.HasSuffix(got.Message, want) {
			t.Errorf("%s: %v %q", name, got.Status, got.Message)
		}
	}
	if got := result.timing(t, "right"); got.Status != op.StatusPass {
		t.Errorf("%v %q", got.Status, got.Message)
	}
}

// Sets of the same inputs may get different bits of an output that is declared to vary.
func TestTimedSetsThatMayVary(t *testing.T) {
	g := newGPU(t, 0.003, map[string]float64{"varies": 1e5})
	g.differing = map[string][]backend.Differing{"varies": {{Output: "y", Set: 3, Bytes: 12}}}
	g.kind.Nondeterministic = []string{"y"}
	if got := timeOn(t, g, coldPlan, nil).timing(t, "varies"); got.Status != op.StatusPass {
		t.Errorf("%v %q", got.Status, got.Message)
	}
}

// Calls that crash when their outputs are fetched have no time.
func TestTimedCallsThatCrashAtTheirEnd(t *testing.T) {
	g := newGPU(t, 0.003, map[string]float64{"dies": 1e5})
	g.written = map[string]backend.Outcome{"dies": {Status: op.StatusCrash, Sentence: "exited 7"}}
	got := timeOn(t, g, coldPlan, nil).timing(t, "dies")
	if got.Status != op.StatusCrash || got.Message != "after its calls were timed: exited 7" {
		t.Errorf("%v %q", got.Status, got.Message)
	}
}
