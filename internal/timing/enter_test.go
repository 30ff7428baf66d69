package timing_test

import (
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
)

// The row of an implementation that passed and was not timed says why, whatever kept it from the rounds.
// Those that are timed are compared all the same.
func TestNobodyLeavesTheRoundsSilently(t *testing.T) {
	g := newGPU(t, 0.003, map[string]float64{
		"timed": 1e5, "declines": 0, "forward fails": 1e5, "no clock": 1e5, "no memory": 1e5, "crashes": 1e5,
	})
	outcome := func(status op.Status, sentence string) backend.Outcome {
		return backend.Outcome{Status: status, Sentence: sentence}
	}
	g.jobs = map[string]backend.Outcome{"forward fails": outcome(op.StatusMissing, "it gives no mask")}
	g.refuses = map[string]backend.Outcome{
		"no clock":  outcome(op.StatusUnavailable, "the runtime library is not here"),
		"no memory": outcome(op.StatusOOM, "no room for y"),
		"crashes":   outcome(op.StatusCrash, "CUDA error 700"),
	}
	result := timeOn(t, g, coldPlan, nil)
	for name, want := range map[string]backend.Outcome{
		"timed":         outcome(op.StatusPass, ""),
		"declines":      outcome(op.StatusUnsupported, "it cannot be timed"),
		"forward fails": g.jobs["forward fails"],
		"no clock":      g.refuses["no clock"],
		"no memory":     g.refuses["no memory"],
		"crashes":       g.refuses["crashes"],
	} {
		got := result.timing(t, name)
		if got.Status != want.Status || got.Message != want.Sentence || got.N == 0 && got.Message == "" {
			t.Errorf("%s: %v %q, want %v %q", name, got.Status, got.Message, want.Status, want.Sentence)
		}
	}
}

// If none can be timed, every row says so.
func TestNobodyCanBeTimed(t *testing.T) {
	result := timeOn(t, newGPU(t, 0.003, map[string]float64{"one": 0, "other": 0}), coldPlan, nil)
	for _, name := range []string{"one", "other"} {
		got := result.timing(t, name)
		if got.Status != op.StatusUnsupported || got.Message != "it cannot be timed" {
			t.Errorf("%s: %v %q", name, got.Status, got.Message)
		}
	}
}

// The row of the fastest says that it has no second candidate to measure its noise against.
func TestFastestWithoutASecondCandidate(t *testing.T) {
	g := newGPU(t, 0.003, map[string]float64{"fast": 1e5, "slow": 1.2e5})
	g.once = true
	result := timeOn(t, g, coldPlan, nil)
	fast, slow := result.timing(t, "fast"), result.timing(t, "slow")
	if fast.Status != op.StatusPass || slow.Message != "" ||
		!strings.HasSuffix(fast.Message, "it was not timed beside itself: no room for a second candidate") {
		t.Errorf("%v %q, %q", fast.Status, fast.Message, slow.Message)
	}
}

// If a call cannot be captured in a graph, the row says what its times measure.
func TestWhatTimesAreOf(t *testing.T) {
	for mode, words := range map[string]string{
		"events":  "the host's time is included: it copies",
		"kernels": "its kernels alone are timed, one by one: it copies",
	} {
		g := newGPU(t, 0.003, map[string]float64{"one": 1e5})
		g.facts = func(_ string, f *backend.PrepareReply) { f.Mode, f.ModeReason = mode, "it copies" }
		got := timeOn(t, g, coldPlan, nil).timing(t, "one")
		if got.Mode != "events" || got.Message != words {
			t.Errorf("%s: %s %q", mode, got.Mode, got.Message)
		}
	}
}
