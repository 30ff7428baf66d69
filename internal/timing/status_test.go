package timing_test

import (
	"strings"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/timing"
)

// A cold time below what the memory's width allows is IMPOSSIBLE; the same time with a warm cache is not.
func TestImpossible(t *testing.T) {
	g := newGPU(t, 0.003, map[string]float64{"skips": 1e-1, "right": 1e5})
	plan := coldPlan
	plan.Regimes = []timing.Regime{{Cold: true}, {Cold: false}}
	result := timeOn(t, g, plan, nil)
	if got := result.timing(t, "skips"); got.Status != op.StatusImpossible || got.Message == "" {
		t.Errorf("%v %q", got.Status, got.Message)
	}
	for _, c := range result.comparisons {
		if c.Regime == "cold" && c.A == "right" && c.B == "skips" {
			t.Error("the impossible time is the best")
		}
	}
	for _, r := range result.records {
		if len(r.Timings) != 2 || r.Timings[1].Status != op.StatusPass || r.Timings[1].Regime != "warm" {
			t.Errorf("%s: %+v", r.Impl, r.Timings)
		}
	}
}

// The budget ends rounds: with much noise nothing settles, and the timings are UNSTABLE.
func TestUnstable(t *testing.T) {
	g := newGPU(t, 0.8, map[string]float64{"noisy": 1e8})
	few := timing.Plan{Regimes: []timing.Regime{{Cold: true}}, Rounds: 8, Budget: time.Minute}
	result := timeOn(t, g, few, nil)
	noisy := result.timing(t, "noisy")
	if noisy.Status != op.StatusUnstable || !strings.Contains(noisy.Message, "interval") {
		t.Errorf("%v %q", noisy.Status, noisy.Message)
	}
	brief := timing.Plan{Regimes: []timing.Regime{{Cold: true}}, Rounds: 50, Budget: 1}
	got := timeOn(t, newGPU(t, 0.01, map[string]float64{"slow": 1e9}), brief, nil).timing(t, "slow")
	if got.Status != op.StatusUnstable || got.N > 2 || !strings.Contains(got.Message, "--budget") {
		t.Errorf("%v %q after %d samples", got.Status, got.Message, got.N)
	}
}

// A cold timing whose sets fit into the cache is reported as not cold, unless the call is too slow for that
// to matter.
func TestNotCold(t *testing.T) {
	g := newGPU(t, 0.003, map[string]float64{"small": 1e4, "slow": 2e4})
	g.facts = func(_ string, f *backend.PrepareReply) { f.RotatedBytes = 1 << 10 }
	result := timeOn(t, g, coldPlan, nil)
	small := result.timing(t, "small")
	if !strings.HasSuffix(small.Message, "4 sets fit into the L2 cache: not cold") {
		t.Errorf("%q", small.Message)
	}
	if slow := result.timing(t, "slow"); slow.Message != "" {
		t.Errorf("of a slow call: %q", slow.Message)
	}
}
