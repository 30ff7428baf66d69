package resultdiff

import (
	"math/rand/v2"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// on returns the conditions of a session on a GPU.
func on(gpu string) *Conditions {
	return &Conditions{
		Machine:   record.Machine{GPU: gpu},
		Toolchain: record.Toolchain{"torch": "2.11.0"},
		CopyRate:  4e12,
	}
}

// entry returns an implementation on the named case.
func entry(caseKey, impl string, status op.Status, c *Conditions, times ...Time) Entry {
	return Entry{
		Case: op.Case{
			Op:    "doubled",
			Pass:  op.Forward,
			DType: "fp32",
		}, CaseKey: caseKey, Impl: impl, Status: status,
		Source: "a", Conditions: c, Timings: times,
	}
}

// series returns a time of n rounds around a median of 100 us with a noise of 0.3 %.
func series(random *rand.Rand, n int, factor float64) Time {
	t := Time{Regime: "cold", Mode: "graph", ClockMHz: 1980}
	for range n {
		t.RoundsNS = append(t.RoundsNS, 1e5*factor*(1+0.003*random.NormFloat64()))
	}
	t.MedianNS = 1e5 * factor
	return t
}

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		a, b op.Status
		want Outcome
	}{
		{op.StatusPass, op.StatusPass, Unchanged},
		{op.StatusPass, op.StatusFail, BecameWrong},
		{op.StatusUnsupported, op.StatusCrash, BecameWrong},
		{op.StatusFail, op.StatusWarn, BecameRight},
		{op.StatusFail, op.StatusKnown, BecameRight},
		{op.StatusPass, op.StatusUnavailable, Lost},
		{op.StatusNoPower, op.StatusPass, Gained},
		{op.StatusFail, op.StatusRace, Other},
		{op.StatusPass, op.StatusWarn, Other},
	} {
		a := Side{Entries: []Entry{entry("1", "x", c.a, on(""))}}
		b := Side{Entries: []Entry{entry("1", "x", c.b, on(""))}}
		if got := Diff(a, b, Options{}); len(got) != 1 || got[0].Outcome != c.want {
			t.Errorf("%v -> %v: %+v, want %s", c.a, c.b, got, c.want)
		}
	}
}

func TestWhatOneSideAloneHas(t *testing.T) {
	a := Side{
		Entries: []Entry{entry("1", "x", op.StatusPass, on("")), entry("2", "x", op.StatusPass, on(""))},
	}
	b := Side{
		Entries: []Entry{entry("2", "x", op.StatusPass, on("")), entry("2", "y", op.StatusFail, on(""))},
	}
	c := Counted(Diff(a, b, Options{}))
	if c.Outcomes[OnlyA] != 1 || c.Outcomes[OnlyB] != 1 || c.Outcomes[Unchanged] != 1 {
		t.Errorf("counts %v, want one of each", c.Outcomes)
	}
	if c.Regressed(true) {
		t.Error("a new implementation that fails is no regression of an old one")
	}
}

// one compares one pair of times.
func one(a, b Time, x, y *Conditions, o Options) Ratio {
	changes := Diff(Side{Entries: []Entry{entry("1", "x", op.StatusPass, x, a)}},
		Side{Entries: []Entry{entry("1", "x", op.StatusPass, y, b)}}, o)
	return changes[0].Times[0]
}

func TestPlantedSlowdowns(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		rounds int
		factor float64
		want   []SpeedVerdict
	}{
		{15, 1.05, []SpeedVerdict{Slower}},
		{15, 0.95, []SpeedVerdict{Faster}},
		{15, 1, []SpeedVerdict{Same}},
		{15, 1.01, []SpeedVerdict{Same, Ambiguous}}, // within what two sessions differ by
		{4, 1.2, []SpeedVerdict{Ambiguous}},         // too few rounds for a verdict
		{4, 3, []SpeedVerdict{Slower}},              // so far apart that few are enough
	} {
		for range 100 {
			a, b := series(random, c.rounds, 1), series(random, c.rounds, c.factor)
			if r := one(a, b, on("H200"), on("H200"), Options{}); !slices.Contains(c.want, r.SpeedVerdict) {
				t.Fatalf("%d rounds, %v times as long: %+v, want %s", c.rounds, c.factor, r, c.want)
			}
		}
	}
}

// Measured noise, and a machine whose ceilings moved, raise the bar.
func TestNoiseRaisesTheBar(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	a, b := series(random, 30, 1), series(random, 30, 1.05)
	noisy := b
	noisy.Noise = 0.08
	if r := one(a, noisy, on("H200"), on("H200"), Options{}); r.SpeedVerdict == Slower {
		t.Errorf("5 %% within a noise of 8 %%: %+v", r)
	}
	slow := on("H200")
	slow.CopyRate /= 1.06
	if r := one(a, b, on("H200"), slow, Options{}); r.SpeedVerdict == Slower {
		t.Errorf("5 %% where copies are 6 %% slower: %+v", r)
	}
}

func TestConditionsThatDiffer(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	a, b := series(random, 15, 1), series(random, 15, 1.3)
	slowClock, events, pair := b, b, b
	slowClock.ClockMHz, events.Mode, pair.Backward = 1605, "events", record.ForwardBackward
	for name, c := range map[string]struct {
		b Time
		y *Conditions
	}{
		"GPU": {b, on("H100")}, "clock": {slowClock, on("H200")}, "mode": {events, on("H200")},
		"backward": {pair, on("H200")},
	} {
		if r := one(a, c.b, on("H200"), c.y, Options{}); r.SpeedVerdict != Incomparable || r.Why == "" {
			t.Errorf("another %s: %+v", name, r)
		}
		if r := one(a, c.b, on("H200"), c.y, Options{Across: true}); r.SpeedVerdict != Slower || r.Why == "" {
			t.Errorf("another %s with Across: %+v", name, r)
		}
	}
}

// Swapping the sides inverts every answer.
func TestSwapInverts(t *testing.T) {
	inverse := map[Outcome]Outcome{
		Unchanged: Unchanged, BecameWrong: BecameRight, BecameRight: BecameWrong, Lost: Gained, Gained: Lost,
		OnlyA: OnlyB, OnlyB: OnlyA, Other: Other,
	}
	swapped := map[SpeedVerdict]SpeedVerdict{
		Faster:       Slower,
		Slower:       Faster,
		Same:         Same,
		Ambiguous:    Ambiguous,
		Incomparable: Incomparable,
	}
	random := rand.New(rand.NewPCG(7, 8))
	statuses := op.Statuses()
	var a, b Side
	for i := range 2000 {
		key := string(rune('a'+i%26)) + string(rune('a'+i/26))
		for _, side := range []*Side{&a, &b} {
			if random.IntN(10) == 0 {
				continue
			}
			c := on([]string{"H200", "H200", "H200", "H100"}[random.IntN(4)])
			c.CopyRate *= 1 + 0.02*random.Float64()
			t := series(random, 3+random.IntN(20), 1+0.06*random.Float64()*float64(random.IntN(3)))
			t.Noise = 0.03 * random.Float64() * float64(random.IntN(2))
			side.Entries = append(side.Entries, entry(key, "x", statuses[random.IntN(len(statuses))], c, t))
		}
	}
	there, back := Diff(a, b, Options{}), Diff(b, a, Options{})
	if len(there) != len(back) {
		t.Fatalf("%d and %d changes", len(there), len(back))
	}
	found := map[string]Change{}
	for _, c := range back {
		found[c.Of().CaseKey] = c
	}
	seen := map[SpeedVerdict]int{}
	for _, c := range there {
		d := found[c.Of().CaseKey]
		if inverse[c.Outcome] != d.Outcome {
			t.Errorf("case %s: %s, swapped %s", c.Of().CaseKey, c.Outcome, d.Outcome)
		}
		for i, r := range c.Times {
			seen[r.SpeedVerdict]++
			if s := d.Times[i]; swapped[r.SpeedVerdict] != s.SpeedVerdict || r.P != s.P {
				t.Errorf("case %s: %+v, swapped %+v", c.Of().CaseKey, r, s)
			}
		}
	}
	for word := range swapped {
		if seen[word] == 0 {
			t.Errorf("no time is %s: the test shows nothing of it", word)
		}
	}
}

func TestCausesAndSources(t *testing.T) {
	a := Side{Entries: []Entry{entry("1", "x", op.StatusPass, on("H200"))}}
	b := Side{Entries: []Entry{entry("1", "x", op.StatusPass, on("H100"))}}
	b.Entries[0].Conditions.Toolchain = record.Toolchain{"torch": "2.12.0", "nvcc": "13.1"}
	b.Entries[0].Source = "b"
	want := []string{"GPU H200 -> H100", "nvcc none -> 13.1", "torch 2.11.0 -> 2.12.0"}
	if got := Causes(a, b); !slices.Equal(got, want) {
		t.Errorf("causes %q, want %q", got, want)
	}
	if got := Sources(a, b); !slices.Equal(got, []string{"doubled/x"}) {
		t.Errorf("sources %q", got)
	}
}

func TestHistoriesTellWhatIsNew(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 10))
	visit := func(source string, bad, wrong, right int, factor float64) Visit {
		return Visit{
			Impl: "x", Source: source, Conditions: on("H200"), Good: 5, Bad: bad, BecameWrong: wrong,
			BecameRight: right,
			Times:       []TimeOfCase{{CaseKey: "1", Time: series(random, 20, factor)}},
		}
	}
	steps := Histories([]Visit{
		visit("a", 0, 0, 0, 1), visit("a", 0, 0, 0, 1), visit("b", 2, 2, 0, 1), visit("c", 0, 0, 2, 1.2),
		visit("c", 0, 0, 0, 1.2),
	})["x"]
	if len(steps) != 4 {
		t.Fatalf("%d steps, want first, wrong, right and slower, newest", len(steps))
	}
	if s := steps[0]; !s.First || s.Alike != 1 {
		t.Errorf("the first step is %+v", s)
	}
	if s := steps[1]; !slices.Equal(s.Changed, []string{"source"}) || s.BecameWrong != 2 ||
		s.Ratios[0].SpeedVerdict != Same {
		t.Errorf("the second step is %+v", s)
	}
	if s := steps[2]; s.BecameRight != 2 || s.Ratios[0].SpeedVerdict != Slower {
		t.Errorf("the third step is %+v", s)
	}
}

// Entries of one device are compared with each other; those of a case and implementation that remain alone on
// both sides, on other devices, are compared too.
func TestDiffMatchesDevices(t *testing.T) {
	of := func(device string, status op.Status) Entry {
		return Entry{CaseKey: "1", Impl: "cuda/a", Device: device, Status: status, Conditions: &Conditions{}}
	}
	for _, c := range []struct {
		a, b []Entry
		want []Outcome
	}{
		{
			[]Entry{of("emulator", op.StatusFail), of("gpu", op.StatusPass)},
			[]Entry{of("gpu", op.StatusPass), of("emulator", op.StatusPass)},
			[]Outcome{Unchanged, BecameRight},
		},
		{
			[]Entry{of("emulator", op.StatusPass)},
			[]Entry{of("gpu", op.StatusFail)},
			[]Outcome{BecameWrong},
		},
		{
			[]Entry{of("emulator", op.StatusPass), of("", op.StatusBuildFail)},
			[]Entry{of("gpu", op.StatusPass)},
			[]Outcome{OnlyB, OnlyA, OnlyA},
		},
	} {
		var got []Outcome
		for _, change := range Diff(Side{Entries: c.a}, Side{Entries: c.b}, Options{}) {
			got = append(got, change.Outcome)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%v, want %v", got, c.want)
		}
	}
}
