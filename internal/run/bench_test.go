package run

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/truth"
)

// card is a GPU of a test: a clock that drifts with every call, and who runs on it.
type card struct {
	t       *testing.T
	random  *rand.Rand
	drift   float64 // amplitude of the clock, as a share
	calls   atomic.Int64
	order   []string // who was timed, in order
	running string
	rests   int
	low     int64 // in one of so many stretches of 40 ms the clock is low; 0: never
}

func (c *card) clock() float64 {
	if c.low > 0 && time.Now().UnixMilli()/40%c.low == 0 {
		return 0.8
	}
	return 1 + c.drift*math.Sin(float64(c.calls.Load())/40)
}

// Read is what telemetry sees.
func (c *card) Read() Reading {
	return Reading{ClockMHz: 1900 * c.clock(), PowerW: 500, TemperatureC: 40, Throttle: 4}
}

// timedFake is a fake whose calls take a time.
type timedFake struct {
	*fake
	card      *card
	ns        map[string]float64 // of one call
	noise     float64
	takesTime bool           // a call takes its time on the clock of the test
	without   []string       // rulers that it does not know
	after     map[string]way // what the timed calls write, where it is not what the judged call wrote
	ends      map[string]backend.Outcome
	finishing sync.Mutex
	open      int
	differs   map[string][]backend.Differing // which outputs are not the same bits in all sets
}

func (f *timedFake) rest(d time.Duration) {
	f.card.rests++
	if f.takesTime {
		time.Sleep(d)
	}
}

func (f *timedFake) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply, error) {
	reply, hello, err := f.fake.Load(ctx, operator)
	for i := range reply.Implementations {
		reply.Implementations[i].Device = "gpu"
	}
	return reply, hello, err
}

func (f *timedFake) Measure(_ context.Context, job backend.MeasureJob) (backend.Arm, backend.Outcome, error) {
	name, facts := job.Implementation.Name, backend.PrepareReply{Mode: "graph", Sets: 4, Calls: 8, RotatedBytes: 1 << 30,
		Device: backend.DevicePhysics{L2Bytes: 1 << 20, Multiprocessors: 132, BytesPerSecond: 4.8e12, ClockMHz: 1980, Major: 9}}
	ns := f.ns[name]
	switch {
	case slices.Contains(f.without, job.Ruler):
		return nil, backend.Outcome{Status: op.StatusUnsupported, Sentence: "it has no such ruler"}, nil
	case job.Ruler == backend.RulerCopy:
		name, ns, facts.Bytes = job.Ruler, 1e6, 4e9
	case job.Ruler == backend.RulerBF16:
		name, ns, facts.FLOPs = job.Ruler, 1e6, 700e9
	case job.Ruler == backend.RulerMemcpy:
		name, ns = job.Ruler, 1e5
	case job.Ruler != "" || ns == 0:
		return nil, backend.Outcome{Status: op.StatusUnsupported, Sentence: "it cannot be timed"}, nil
	}
	facts.EstimateNS = math.Max(ns, 1)
	if f.takesTime && ns > backend.SlowCallNS {
		facts.Sets, facts.Calls = 2, 2
	}
	f.open++
	return &fakeArm{fake: f, name: name, ns: ns, facts: facts, job: job.Job}, backend.Outcome{}, nil
}

type fakeArm struct {
	fake  *timedFake
	name  string
	ns    float64
	facts backend.PrepareReply
	job   backend.Job
}

func (a *fakeArm) Facts() backend.PrepareReply { return a.facts }

func (a *fakeArm) Time(_ context.Context, args backend.TimeArgs) (backend.TimeReply, backend.Outcome, error) {
	c := a.fake.card
	if c.running != "" {
		c.t.Errorf("%s runs while %s does", a.name, c.running)
	}
	c.running = a.name
	defer func() { c.running = "" }()
	c.order = append(c.order, a.name)
	if o, ends := a.fake.ends[a.name]; ends {
		return backend.TimeReply{}, o, nil
	}
	if a.fake.takesTime {
		time.Sleep(time.Duration(args.SettleNS) + time.Duration(a.ns*float64(a.facts.Calls*(args.Samples+args.Discard))))
	}
	var reply backend.TimeReply
	for range args.Samples {
		c.calls.Add(1)
		reply.SamplesNS = append(reply.SamplesNS, a.ns/c.clock()*math.Exp(a.fake.noise*c.random.NormFloat64()))
	}
	return reply, backend.Outcome{}, nil
}

func (a *fakeArm) Finish(context.Context) (backend.Outcome, []backend.Differing, error) {
	a.fake.finishing.Lock()
	defer a.fake.finishing.Unlock()
	a.fake.open--
	if len(a.job.Outputs) == 0 {
		return backend.Outcome{}, nil, nil
	}
	job := a.job
	job.Launches = []backend.LaunchPlan{{Poison: "a"}, {Poison: "b"}}
	was := a.fake.fake.ways
	if w := a.fake.after[a.name]; w != nil {
		a.fake.fake.ways = map[string]way{a.name: w}
		defer func() { a.fake.fake.ways = was }()
	}
	outcome, err := a.fake.Run(context.Background(), job)
	return outcome, a.fake.differs[a.name], err
}

func (m *memory) AppendTiming(run string, t record.Timing) error {
	m.timings = append(m.timings, t)
	return m.fail
}
func (m *memory) AppendRulers(r []record.Ruler) error           { m.rulers = r; return nil }
func (m *memory) AppendComparisons(c []record.Comparison) error { return nil }

// bench times softmax on a small shape through a fake; others are there as well, but not asked for.
func bench(t *testing.T, f *timedFake, plan TimingPlan, others ...backend.Backend) (Result, *memory) {
	t.Helper()
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	kept := &memory{}
	r := &Runner{Backends: append([]backend.Backend{f}, others...), Recorder: kept, Timings: kept, Telemetry: f.card, Stop: t.Context(),
		Rest: func(_ context.Context, d time.Duration) { f.rest(d) }}
	result, err := r.Bench(t.Context(), Request{Operators: []*truth.Operator{o}, Impls: f.Families(), Seed: 1, Timing: &plan, Options: op.Options{Passes: []op.Pass{op.Forward},
		DTypes: []string{"fp32"}, Dims: map[string]int64{"rows": 5, "cols": 33}}})
	if err != nil {
		t.Fatal(err)
	}
	if f.open != 0 {
		t.Errorf("%d arms were not finished", f.open)
	}
	return result, kept
}

func timedFakes(t *testing.T, noise float64, ns map[string]float64) *timedFake {
	ways := map[string]way{}
	for name := range ns {
		ways[name] = right
	}
	return &timedFake{fake: fakes(ways), noise: noise, ns: ns, card: &card{t: t, random: rand.New(rand.NewPCG(1, 2))}}
}

var coldPlan = TimingPlan{Regimes: []Regime{{Cold: true}}, Rounds: 60, Budget: time.Minute}

func timingOf(t *testing.T, r Result, impl string) record.Timing {
	t.Helper()
	for _, rec := range r.Records {
		if rec.Impl == impl && len(rec.Timings) > 0 {
			return rec.Timings[0]
		}
	}
	t.Fatalf("%s has no timing", impl)
	return record.Timing{}
}

func wordOf(r Result, a, b string) string {
	for _, c := range r.Comparisons {
		if c.A == a && c.B == b {
			return c.Word
		}
	}
	return ""
}

// From the judge's verdict to a word: what passed is timed in alternating order, one at a time; the ratio is right although the clock
// drifts; bytes, roofline and clock stand beside it.
func TestBench(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/fast": 1e5, "fake/slow": 1.5e5, "fake/wrong": 1e4})
	f.ways["fake/wrong"], f.card.drift = zeros, 0.05
	result, kept := bench(t, f, coldPlan)
	fast := timingOf(t, result, "fake/fast")
	if fast.Status != op.StatusPass || math.Abs(fast.MedianNS/1e5-1) > 0.03 || fast.N < 30 || fast.Regime != "cold" || fast.Mode != "graph" || fast.Sets != 4 {
		t.Errorf("%+v", fast)
	}
	if fast.Roofline == nil || fast.Bytes != 2*5*33*4 || fast.ClockMHz == nil || math.Abs(float64(*fast.ClockMHz)/1900-1) > 0.06 || fast.Throttle != 4 {
		t.Errorf("roofline %v, bytes %d, clock %v", fast.Roofline, fast.Bytes, fast.ClockMHz)
	}
	if len(fast.SamplesNS) != fast.N || len(fast.Rounds) != fast.N || len(fast.Positions) != fast.N || len(fast.ClocksMHz) != fast.N {
		t.Error("not every sample has its round, place and clock")
	}
	if w := wordOf(result, "fake/slow", "fake/fast"); w != "SLOWER" {
		t.Errorf("slow is %q: %+v", w, result.Comparisons)
	}
	if w := wordOf(result, "fake/fast", "fake/fast"); w == "FASTER" || w == "SLOWER" || w == "" {
		t.Errorf("A/A: %q", w)
	}
	if len(kept.timings) != 2 || slices.Contains(f.card.order, "fake/wrong") {
		t.Errorf("what failed was timed: %d timings", len(kept.timings))
	}
	first := slices.Index(f.card.order, "fake/fast")
	turns := f.card.order[first:]
	if want := []string{"fake/fast", "fake/slow", "fake/fast", "fake/fast", "fake/slow", "fake/fast"}; !slices.Equal(turns[:6], want) {
		t.Errorf("the first two rounds go %v, want %v", turns[:6], want)
	}
	if len(kept.rulers) != 2 || rate(kept.rulers[1].BytesPerSecond) < 3.9e12 {
		t.Errorf("rulers: %+v", kept.rulers)
	}
}

// A slowdown of 3 % is found in at least 38 of 40 sessions with a drifting clock; the same kernel against itself is called different in at
// most 1 % of 240 comparisons.
func TestSlowdownOfThreePercent(t *testing.T) {
	found, wrong, same := 0, 0, 0
	for try := range 40 {
		f := timedFakes(t, 0.01, map[string]float64{"fake/a": 1e5, "fake/b": 1.03e5, "fake/c": 1e5, "fake/d": 1e5, "fake/e": 1e5, "fake/f": 1e5})
		f.card.random, f.card.drift = rand.New(rand.NewPCG(uint64(try), 9)), 0.08
		result, _ := bench(t, f, coldPlan)
		for _, c := range result.Comparisons {
			switch {
			case c.A == "fake/b" && c.B != "fake/b":
				if c.Word == "SLOWER" {
					found++
				}
			case c.B != "fake/b":
				same++
				if c.Word == "FASTER" || c.Word == "SLOWER" {
					wrong++
				}
			}
		}
	}
	if found < 38 {
		t.Errorf("found in %d of 40", found)
	}
	if same < 200 || wrong > same/100 {
		t.Errorf("%d of %d comparisons of one kernel with itself are called different", wrong, same)
	}
}

// A cold time below what the memory's width allows is IMPOSSIBLE; the same time with a warm cache is not.
func TestImpossible(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/skips": 1e-1, "fake/right": 1e5})
	plan := coldPlan
	plan.Regimes = []Regime{{Cold: true}, {Cold: false}}
	result, _ := bench(t, f, plan)
	if got := timingOf(t, result, "fake/skips"); got.Status != op.StatusImpossible || got.Message == "" {
		t.Errorf("%v %q", got.Status, got.Message)
	}
	for _, c := range result.Comparisons {
		if c.Regime == "cold" && c.A == "fake/right" && c.B == "fake/skips" {
			t.Error("the impossible time is the best")
		}
	}
	for _, r := range result.Records {
		if len(r.Timings) != 2 || r.Timings[1].Status != op.StatusPass || r.Timings[1].Regime != "warm" {
			t.Errorf("%s: %+v", r.Impl, r.Timings)
		}
	}
}

// other is a backend that nobody asked for: it knows what the card does at best.
type other struct{ *timedFake }

func (o other) Name() string       { return "other" }
func (o other) Families() []string { return []string{"other"} }

// The share of the roofline is that of the bytes moved whoever is asked for; without a copy there is none.
func TestRulersOfOthers(t *testing.T) {
	f := timedFakes(t, 0.001, map[string]float64{"fake/one": 1e5})
	f.without = []string{backend.RulerCopy}
	alone, _ := bench(t, f, coldPlan)
	if got := timingOf(t, alone, "fake/one").Roofline; got != nil {
		t.Errorf("%v of a roofline without bytes", *got)
	}
	knows := timedFakes(t, 0.001, map[string]float64{"other/one": 1e5})
	knows.card = f.card
	result, _ := bench(t, f, coldPlan, other{knows})
	if got := timingOf(t, result, "fake/one").Roofline; got == nil || len(result.Records) != 1 {
		t.Errorf("%v of the roofline, %d records", got, len(result.Records))
	}
}

// The budget ends rounds: with much noise nothing is settled, and what cannot be said is UNSTABLE.
func TestUnstable(t *testing.T) {
	f := timedFakes(t, 0.8, map[string]float64{"fake/noisy": 1e8})
	result, _ := bench(t, f, TimingPlan{Regimes: []Regime{{Cold: true}}, Rounds: 8, Budget: time.Minute})
	if got := timingOf(t, result, "fake/noisy"); got.Status != op.StatusUnstable || !strings.Contains(got.Message, "interval") {
		t.Errorf("%v %q", got.Status, got.Message)
	}
	result, _ = bench(t, timedFakes(t, 0.01, map[string]float64{"fake/slow": 1e9}), TimingPlan{Regimes: []Regime{{Cold: true}}, Rounds: 50, Budget: 1})
	if got := timingOf(t, result, "fake/slow"); got.Status != op.StatusUnstable || got.N > 2 || !strings.Contains(got.Message, "--budget") {
		t.Errorf("%v %q after %d samples", got.Status, got.Message, got.N)
	}
}

// The stop rule: quiet samples are done after the least number, far from the rounds that are allowed.
func TestStopsWhenSettled(t *testing.T) {
	f := timedFakes(t, 0.001, map[string]float64{"fake/one": 1e5})
	result, _ := bench(t, f, TimingPlan{Regimes: []Regime{{Cold: true}}, Rounds: 1000, Budget: time.Hour})
	if got := timingOf(t, result, "fake/one"); got.N < leastSamples || got.N > 10*leastSamples || got.HighNS-got.LowNS > 2.1*settledAt*got.MedianNS {
		t.Errorf("%d samples, interval %v to %v", got.N, got.LowNS, got.HighNS)
	}
}

// The outputs of the timed calls are judged: what was right when it was judged and wrong when it was timed has no time to show.
func TestTimedOutputsAreJudged(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/lazy": 1e4, "fake/right": 1e5})
	f.after = map[string]way{"fake/lazy": zeros}
	result, _ := bench(t, f, coldPlan)
	if got := timingOf(t, result, "fake/lazy"); got.Status != op.StatusFail || !strings.HasPrefix(got.Message, "what the timed calls wrote") {
		t.Errorf("%v %q", got.Status, got.Message)
	}
	if got := timingOf(t, result, "fake/right"); got.Status != op.StatusPass || wordOf(result, "fake/right", "fake/lazy") != "" {
		t.Errorf("%v, compared with what is wrong: %+v", got.Status, result.Comparisons)
	}
}

// Sets of the same inputs get the same bits, else it is said where, and whether the inputs are still what they were.
func TestTimedSetsAreAlike(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/other": 1e4, "fake/writes": 2e4, "fake/right": 1e5})
	f.differs = map[string][]backend.Differing{"fake/other": {{Output: "y", Set: 3, Bytes: 12}}, "fake/writes": {{Output: "y", Set: 1, Bytes: 2, Inputs: []string{"x"}}}}
	result, _ := bench(t, f, coldPlan)
	for name, want := range map[string]string{"fake/other": "other bits of y in set 4 of the same inputs than in the first: 12 bytes differ",
		"fake/writes": "in set 2 of the same inputs than in the first: 2 bytes differ, and its x, which a call may not write to, changed"} {
		if got := timingOf(t, result, name); got.Status != op.StatusFail || !strings.HasSuffix(got.Message, want) {
			t.Errorf("%s: %v %q", name, got.Status, got.Message)
		}
	}
	if got := timingOf(t, result, "fake/right"); got.Status != op.StatusPass {
		t.Errorf("%v %q", got.Status, got.Message)
	}
}

// A contender that crashes while it is timed costs the others nothing.
func TestContenderThatCrashes(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/bad": 9e4, "fake/right": 1e5})
	f.ends = map[string]backend.Outcome{"fake/bad": {Status: op.StatusCrash, Sentence: "illegal address"}}
	o, _ := truth.Get("softmax")
	kept := &memory{}
	r := &Runner{Backends: []backend.Backend{f}, Recorder: kept, Timings: kept, Stop: t.Context()}
	result, err := r.Bench(t.Context(), Request{Operators: []*truth.Operator{o}, Seed: 1, Timing: &coldPlan, Options: op.Options{
		Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"}, Dims: map[string]int64{"rows": 5, "cols": 33}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := timingOf(t, result, "fake/bad"); got.Status != op.StatusCrash || got.Message != "illegal address" {
		t.Errorf("%v %q", got.Status, got.Message)
	}
	if got := timingOf(t, result, "fake/right"); got.Status != op.StatusPass {
		t.Errorf("%v %q", got.Status, got.Message)
	}
}

func TestClocks(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/fast": 1e5})
	clocks, err := Clocks(t.Context(), []backend.Backend{f, fakes(map[string]way{"fake/none": right})})
	if err != nil || len(clocks) != 2 || math.Abs(clocks[0].MedianNS/1e5-1) > 0.01 || clocks[1].Why == "" {
		t.Errorf("%v %+v", err, clocks)
	}
}
