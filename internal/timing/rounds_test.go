package timing_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"triad/internal/op"
	"triad/internal/timing"
)

// secondPlan has a budget that slow calls use up.
var secondPlan = timing.Plan{Regimes: []timing.Regime{{Cold: true}}, Rounds: 40, Budget: time.Second}

// inRegime returns a plan for another load.
func inRegime(p timing.Plan, load timing.Load) timing.Plan {
	p.Regimes = []timing.Regime{{Cold: true, Load: load}}
	return p
}

// A round goes forwards, the next one backwards (ABBA), with the second candidate of the fastest at the end.
func TestMeasurementsAlternate(t *testing.T) {
	g := newGPU(t, 0.003, map[string]float64{"fast": 1e5, "near": 1.2e5, "slow": 1.5e5})
	timeOn(t, g, coldPlan, nil)
	measurements := g.card.Order[slices.Index(g.card.Order, "fast"):]
	want := []string{"fast", "near", "slow", "fast", "fast", "slow", "near", "fast"}
	if got := measurements[:len(want)]; !slices.Equal(got, want) {
		t.Errorf("the first two rounds go %v, want %v", got, want)
	}
}

// What others left in the cache has no influence: every cold measurement begins with a copy. No warm
// measurement does: its inputs are cached.
func TestColdMeasurementsAreAmongOthers(t *testing.T) {
	for _, cold := range []bool{true, false} {
		g := newGPU(t, 0.003, map[string]float64{"one": 1e5})
		plan := coldPlan
		plan.Regimes = []timing.Regime{{Cold: cold}}
		timeOn(t, g, plan, nil)
		measurements := 0
		for _, name := range g.card.Order {
			if name == "one" {
				measurements++
			}
		}
		if want := map[bool]int{true: measurements}[cold]; measurements == 0 || g.card.Others != want {
			t.Errorf("cold %t: %d of %d measurements begin with a copy, want %d", cold, g.card.Others,
				measurements, want)
		}
	}
}

// Every burst follows a rest; sustained measurements are few and settle first.
func TestLoads(t *testing.T) {
	g := newGPU(t, 0.003, map[string]float64{"one": 1e5})
	plan := coldPlan
	plan.Regimes = []timing.Regime{{Cold: true, Load: timing.Burst}, {Cold: true, Load: timing.Sustained}}
	result := timeOn(t, g, plan, nil)
	timings := result.records[0].Timings
	if len(timings) != 2 || timings[0].Regime != "cold burst" || timings[1].Regime != "cold sustained" ||
		timings[1].N < 1000/8 {
		t.Errorf("%+v", timings)
	}
	if last := slices.Max(timings[0].Rounds); g.card.Rests < 2*(last+1) {
		t.Errorf("%d rests before %d rounds of two measurements", g.card.Rests, last+1)
	}
}

// Rests and settling are not charged to the budget: bursts get their rounds.
func TestRestsCostNoBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGPU(t, 0.003, map[string]float64{"fast": 1e5, "slow": 1.1e5})
		g.card.TakesTime = true
		result := timeOn(t, g, inRegime(secondPlan, timing.Burst), nil)
		if w := result.verdict("slow", "fast"); w != "SLOWER" {
			t.Errorf("10 %% slower in bursts is %q: %+v", w, result.comparisons)
		}
	})
}

// The stop rule: quiet samples settle after the least number, long before the maximum of rounds.
func TestStopsWhenSettled(t *testing.T) {
	g := newGPU(t, 0.001, map[string]float64{"one": 1e5})
	long := timing.Plan{Regimes: []timing.Regime{{Cold: true}}, Rounds: 1000, Budget: time.Hour}
	result := timeOn(t, g, long, nil)
	got := result.timing(t, "one")
	if got.N < 30 || got.N > 300 || got.HighNS-got.LowNS > 2.1*0.005*got.MedianNS {
		t.Errorf("%d samples, interval %v to %v", got.N, got.LowNS, got.HighNS)
	}
}

// A row that is 707 times slower, whose three measurements take five times the budget, costs the near ones no
// round and no verdict. It has its own verdict after three rounds, and gets no further ones.
func TestSlowRowLeavesTheRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGPU(t, 0.003,
			map[string]float64{"best": 1.2e6, "near": 1.3e6, "third": 1.46 * 1.2e6, "naive": 707 * 1.2e6})
		g.card.TakesTime = true
		result := timeOn(t, g, secondPlan, nil)
		for name, least := range map[string]int{"best": 12, "near": 12, "third": 12, "naive": 3} {
			got := result.timing(t, name)
			rounds := len(slices.Compact(slices.Clone(got.Rounds)))
			if got.Status != op.StatusPass || rounds < least || least == 3 && rounds != 3 {
				t.Errorf("%s: %v %q in %d rounds", name, got.Status, got.Message, rounds)
			}
			if w := result.verdict(name, "best"); name != "best" && w != "SLOWER" {
				t.Errorf("%s is %q: %+v", name, w, result.comparisons)
			}
		}
	})
}

// A row that takes just above twice the fastest's time has a verdict: whether it leaves the rounds depends on
// the samples that it is compared with, not on those of the fastest's second candidate.
func TestRowAtTwiceTheFastestHasAVerdict(t *testing.T) {
	for seed := range uint64(300) {
		g := newGPU(t, 0.002, map[string]float64{"best": 1e5, "twice": 2.012e5})
		g.card.Random = rand.New(rand.NewPCG(seed, 2))
		result := timeOn(t, g, coldPlan, nil)
		if w := result.verdict("twice", "best"); w != "SLOWER" {
			t.Errorf("seed %d: %q: %+v", seed, w, result.comparisons)
		}
	}
}

// A row that takes far longer than any budget also ends, and costs the others nothing.
func TestEndlessRowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGPU(t, 0.003, map[string]float64{"best": 1.2e6, "near": 1.3e6, "endless": 3e10})
		g.card.TakesTime = true
		began := time.Now()
		result := timeOn(t, g, secondPlan, nil)
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("it took %v", took)
		}
		got := result.timing(t, "endless")
		if got.Status != op.StatusUnstable || !strings.Contains(got.Message, "--budget") {
			t.Errorf("%v %q", got.Status, got.Message)
		}
		if w := result.verdict("near", "best"); w != "SLOWER" {
			t.Errorf("near is %q: %+v", w, result.comparisons)
		}
	})
}

// The fastest by an invalid time, wrong or impossible, does not decide the rounds of the others: they are
// timed again without it.
func TestWrongLeaderCostsNoVerdict(t *testing.T) {
	g := newGPU(t, 0.003, map[string]float64{"lazy": 1e4, "skips": 1e-1, "right": 1e5, "near": 1.1e5})
	result := timeOn(t, g, coldPlan, wrong{"lazy": op.StatusFail})
	for name, want := range map[string]op.Status{
		"lazy": op.StatusFail, "skips": op.StatusImpossible,
		"right": op.StatusPass, "near": op.StatusPass,
	} {
		if got := result.timing(t, name); got.Status != want {
			t.Errorf("%s: %v %q", name, got.Status, got.Message)
		}
	}
	if w := result.verdict("near", "right"); w != "SLOWER" || len(result.timing(t, "near").Rounds) < 30 {
		t.Errorf("near is %q: %+v", w, result.comparisons)
	}
}

// Sustained measurements are few and still suffice for verdicts: eight rounds for those near the leader,
// three for those far behind.
func TestSustainedHasVerdicts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGPU(t, 0.003, map[string]float64{"best": 1e5, "near": 1.1e5, "far": 3e5})
		g.card.TakesTime, g.card.Drift = true, 0.05
		began := time.Now()
		result := timeOn(t, g, inRegime(secondPlan, timing.Sustained), nil)
		took := time.Since(began)
		for name, rounds := range map[string]int{"near": 8, "far": 3} {
			w, got := result.verdict(name, "best"), len(slices.Compact(result.timing(t, name).Rounds))
			if w != "SLOWER" || got != rounds {
				t.Errorf("%s is %q in %d rounds: %+v", name, w, got, result.comparisons)
			}
		}
		if took > time.Minute {
			t.Errorf("three implementations took %v", took)
		}
	})
}

// Among many, some of them slow, each shares enough rounds with the fastest for a verdict, although the clock
// is low in some.
func TestManyImplementationsShareRounds(t *testing.T) {
	for _, low := range []int64{0, 8} {
		manyImplementationsShareRounds(t, low)
	}
}

// In one of `low` rounds the clock is low; 0: in none.
func manyImplementationsShareRounds(t *testing.T, low int64) {
	ns := map[string]float64{"fastest": 2.60e5, "as_fast": 2.61e5, "slow": 4e6, "naive": 4e7}
	for i := range 12 {
		ns[fmt.Sprintf("other%d", i)] = 3e5 + 1e5*float64(i)
	}
	synctest.Test(t, func(t *testing.T) {
		g := newGPU(t, 0.003, ns)
		g.card.TakesTime, g.card.Low = true, low
		result := timeOn(t, g, secondPlan, nil)
		for _, c := range result.comparisons {
			want := "SLOWER"
			if c.Ratio < 1.01 {
				want = "SAME"
			}
			least := 8
			if c.Ratio > 2 {
				least = 3
			}
			if c.SpeedVerdict != want || len(c.Ratios) < least {
				t.Errorf("low in one of %d: %s beside %s: %s, ratio %.3f in %d rounds",
					low, c.A, c.B, c.SpeedVerdict, c.Ratio, len(c.Ratios))
			}
		}
		if len(result.comparisons) < len(ns)-1 {
			t.Errorf("%d comparisons of %d", len(result.comparisons), len(ns))
		}
	})
}
