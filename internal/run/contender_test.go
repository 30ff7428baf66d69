package run

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"triad/internal/op"
)

// Every burst follows a rest; sustained turns are few and settle first.
func TestLoads(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/one": 1e5})
	plan := coldPlan
	plan.Regimes = []Regime{{Cold: true, Load: Burst}, {Cold: true, Load: Sustained}}
	result, _ := bench(t, f, plan)
	timings := result.Records[0].Timings
	if len(timings) != 2 || timings[0].Regime != "cold burst" || timings[1].Regime != "cold sustained" || timings[1].N < 1000/8 {
		t.Errorf("%+v", timings)
	}
	if last := slices.Max(timings[0].Rounds); f.card.rests < 2*(last+1) {
		t.Errorf("%d rests before %d rounds of two turns", f.card.rests, last+1)
	}
}

// What the card rests and settles is not taken from the budget: bursts get their rounds.
func TestRestsCostNoBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := timedFakes(t, 0.003, map[string]float64{"fake/fast": 1e5, "fake/slow": 1.1e5})
		f.takesTime = true
		result, _ := bench(t, f, TimingPlan{Regimes: []Regime{{Cold: true, Load: Burst}}, Rounds: 40, Budget: time.Second})
		if w := wordOf(result, "fake/slow", "fake/fast"); w != "SLOWER" {
			t.Errorf("10 %% slower in bursts is %q: %+v", w, result.Comparisons)
		}
	})
}

// A row that is 707 times slower, whose three turns take five times the budget, costs the near ones no round and no word. It has its own word
// after three rounds, and no further ones.
func TestSlowRowLeavesTheRounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := timedFakes(t, 0.003, map[string]float64{"fake/best": 1.2e6, "fake/near": 1.3e6, "fake/third": 1.46 * 1.2e6, "fake/naive": 707 * 1.2e6})
		f.takesTime = true
		result, _ := bench(t, f, TimingPlan{Regimes: []Regime{{Cold: true}}, Rounds: 40, Budget: time.Second})
		for name, least := range map[string]int{"fake/best": 12, "fake/near": 12, "fake/third": 12, "fake/naive": 3} {
			got := timingOf(t, result, name)
			if rounds := len(slices.Compact(slices.Clone(got.Rounds))); got.Status != op.StatusPass || rounds < least || least == 3 && rounds != 3 {
				t.Errorf("%s: %v %q in %d rounds", name, got.Status, got.Message, rounds)
			}
			if w := wordOf(result, name, "fake/best"); name != "fake/best" && w != "SLOWER" {
				t.Errorf("%s is %q: %+v", name, w, result.Comparisons)
			}
		}
	})
}

// A row that takes far longer than any budget ends too, and costs the others nothing.
func TestEndlessRowEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := timedFakes(t, 0.003, map[string]float64{"fake/best": 1.2e6, "fake/near": 1.3e6, "fake/endless": 3e10})
		f.takesTime = true
		began := time.Now()
		result, _ := bench(t, f, TimingPlan{Regimes: []Regime{{Cold: true}}, Rounds: 40, Budget: time.Second})
		if took := time.Since(began); took > 3*time.Minute {
			t.Errorf("it took %v", took)
		}
		if got := timingOf(t, result, "fake/endless"); got.Status != op.StatusUnstable || !strings.Contains(got.Message, "--budget") {
			t.Errorf("%v %q", got.Status, got.Message)
		}
		if w := wordOf(result, "fake/near", "fake/best"); w != "SLOWER" {
			t.Errorf("near is %q: %+v", w, result.Comparisons)
		}
	})
}

// Who is the fastest by a time that is none, wrong or impossible, decides no other's rounds: the others are timed without it.
func TestWrongLeaderCostsNoWord(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/lazy": 1e4, "fake/skips": 1e-1, "fake/right": 1e5, "fake/near": 1.1e5})
	f.after = map[string]way{"fake/lazy": zeros}
	result, _ := bench(t, f, coldPlan)
	for name, want := range map[string]op.Status{"fake/lazy": op.StatusFail, "fake/skips": op.StatusImpossible, "fake/right": op.StatusPass, "fake/near": op.StatusPass} {
		if got := timingOf(t, result, name); got.Status != want {
			t.Errorf("%s: %v %q", name, got.Status, got.Message)
		}
	}
	if w := wordOf(result, "fake/near", "fake/right"); w != "SLOWER" || len(timingOf(t, result, "fake/near").Rounds) < 30 {
		t.Errorf("near is %q: %+v", w, result.Comparisons)
	}
}

// Sustained turns are few and give words all the same: eight rounds to those near the front, three to who is far behind.
func TestSustainedHasWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := timedFakes(t, 0.003, map[string]float64{"fake/best": 1e5, "fake/near": 1.1e5, "fake/far": 3e5})
		f.takesTime, f.card.drift = true, 0.05
		began := time.Now()
		result, _ := bench(t, f, TimingPlan{Regimes: []Regime{{Cold: true, Load: Sustained}}, Rounds: 40, Budget: time.Second})
		took := time.Since(began)
		for name, rounds := range map[string]int{"fake/near": 8, "fake/far": 3} {
			if w, got := wordOf(result, name, "fake/best"), len(slices.Compact(timingOf(t, result, name).Rounds)); w != "SLOWER" || got != rounds {
				t.Errorf("%s is %q in %d rounds: %+v", name, w, got, result.Comparisons)
			}
		}
		if took > time.Minute {
			t.Errorf("three implementations took %v", took)
		}
	})
}

// Among many, with some that are slow, everyone shares enough rounds with the fastest for a word, although the clock is low in some.
func TestManyContendersShareRounds(t *testing.T) {
	for _, low := range []int64{0, 8} {
		manyContendersShareRounds(t, low)
	}
}

// In one of `low` rounds the clock is low; 0: in none.
func manyContendersShareRounds(t *testing.T, low int64) {
	ns := map[string]float64{"fake/fastest": 2.60e5, "fake/as_fast": 2.61e5, "fake/slow": 4e6, "fake/naive": 4e7}
	for i := range 12 {
		ns[fmt.Sprintf("fake/other%d", i)] = 3e5 + 1e5*float64(i)
	}
	synctest.Test(t, func(t *testing.T) {
		f := timedFakes(t, 0.003, ns)
		f.takesTime, f.card.low = true, low
		result, _ := bench(t, f, TimingPlan{Regimes: []Regime{{Cold: true}}, Rounds: 40, Budget: time.Second})
		for _, c := range result.Comparisons {
			want := "SLOWER"
			if c.Ratio < 1.01 {
				want = "SAME"
			}
			least := 8
			if c.Ratio > 2 {
				least = 3
			}
			if c.Word != want || len(c.Ratios) < least {
				t.Errorf("low in one of %d: %s beside %s: %s, ratio %.3f in %d rounds", low, c.A, c.B, c.Word, c.Ratio, len(c.Ratios))
			}
		}
		if len(result.Comparisons) < len(ns)-1 {
			t.Errorf("%d comparisons of %d", len(result.Comparisons), len(ns))
		}
	})
}
