package run

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/timing"
	"triad/internal/timing/timingtest"
	"triad/internal/truth"
)

// timedFake is a fake whose calls take a given time.
type timedFake struct {
	*fake
	card      *timingtest.Card
	ns        map[string]float64 // of one call
	without   []string           // ceilings that it does not know
	after     map[string]way     // what the timed calls write, if it differs from what the judged call wrote
	ends      map[string]backend.Outcome
	finishing sync.Mutex
	open      atomic.Int64
}

func (f *timedFake) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply,
	error,
) {
	reply, hello, err := f.fake.Load(ctx, operator)
	for i := range reply.Implementations {
		reply.Implementations[i].Device = "gpu"
	}
	return reply, hello, err
}

func (f *timedFake) Measure(_ context.Context, job backend.MeasureJob) (
	backend.Candidate, backend.Outcome, error,
) {
	name, ns, facts := f.card.Asked(job, f.ns)
	if ns == 0 || slices.Contains(f.without, job.Ceiling) {
		return nil, backend.Outcome{Status: op.StatusUnsupported, Sentence: "it cannot be timed"}, nil
	}
	candidate := &timingtest.Candidate{Card: f.card, Name: name, NS: ns, Prepared: facts}
	if end, ends := f.ends[name]; ends {
		candidate.End = &end
	}
	f.open.Add(1)
	candidate.Written = func() (backend.Outcome, []backend.Differing,
		error,
	) {
		return f.written(name, job.Job)
	}
	return candidate, backend.Outcome{}, nil
}

// written returns the outputs of the timed calls: what the implementation gives, or what it gives only when
// it is timed.
func (f *timedFake) written(name string, job backend.Job) (backend.Outcome, []backend.Differing, error) {
	f.open.Add(-1)
	if len(job.Outputs) == 0 {
		return backend.Outcome{}, nil, nil
	}
	job.Launches = []backend.LaunchPlan{{Poison: "a"}, {Poison: "b"}}
	f.finishing.Lock()
	defer f.finishing.Unlock()
	was := f.fake.ways
	if w := f.after[name]; w != nil {
		f.fake.ways = map[string]way{name: w}
		defer func() { f.fake.ways = was }()
	}
	outcome, err := f.fake.Run(context.Background(), job)
	return outcome, nil, err
}

func (m *memory) AppendTiming(run string, t record.Timing) error {
	m.timings = append(m.timings, t)
	return m.fail
}
func (m *memory) AppendCeilings(r []record.Ceiling) error       { m.ceilings = r; return nil }
func (m *memory) AppendComparisons(c []record.Comparison) error { return nil }

// bench times softmax on a small shape through a fake; other backends are available, but not asked for.
func bench(t *testing.T, f *timedFake, plan timing.Plan, others ...backend.Backend) (Result, *memory) {
	t.Helper()
	return benchBy(t, f, &plan, others...)
}

// benchBy is bench with a plan of timing that may be nil.
func benchBy(t *testing.T, f *timedFake, plan *timing.Plan, others ...backend.Backend) (Result, *memory) {
	t.Helper()
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	kept := &memory{}
	r := &Runner{
		Backends: append([]backend.Backend{f}, others...), Recorder: kept, Timings: kept, Telemetry: f.card,
		Stop: t.Context(),
		Rest: f.card.Rest,
	}
	result, err := r.Bench(t.Context(), Request{
		Operators: []*truth.Operator{o}, Impls: f.Families(), Seed: 1,
		Timing: plan, Options: op.Options{
			Passes: []op.Pass{op.Forward},
			DTypes: []string{"fp32"}, Dims: map[string]int64{"rows": 5, "cols": 33},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if open := f.open.Load(); open != 0 {
		t.Errorf("%d candidates were not finished", open)
	}
	return result, kept
}

func timedFakes(t *testing.T, noise float64, ns map[string]float64) *timedFake {
	ways := map[string]way{}
	for name := range ns {
		ways[name] = right
	}
	return &timedFake{fake: fakes(ways), ns: ns, card: timingtest.NewCard(t, noise)}
}

var coldPlan = timing.Plan{Regimes: []timing.Regime{{Cold: true}}, Rounds: 60, Budget: time.Minute}

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

func speedVerdictOf(r Result, a, b string) string {
	for _, c := range r.Comparisons {
		if c.A == a && c.B == b {
			return c.SpeedVerdict
		}
	}
	return ""
}

// TestBench covers the way from the judge's verdict to a verdict: what passed is timed in alternating order,
// one at a time; the ratio is right although the clock drifts; bytes, roofline and clock are given too.
func TestBench(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/fast": 1e5, "fake/slow": 1.5e5, "fake/wrong": 1e4})
	f.ways["fake/wrong"], f.card.Drift = zeros, 0.05
	result, kept := bench(t, f, coldPlan)
	fast := timingOf(t, result, "fake/fast")
	if fast.Status != op.StatusPass || math.Abs(fast.MedianNS/1e5-1) > 0.03 || fast.N < 30 ||
		fast.Regime != "cold" || fast.Mode != "graph" || fast.Sets != 4 {
		t.Errorf("%+v", fast)
	}
	if fast.Roofline == nil || fast.Bytes != 2*5*33*4 || fast.ClockMHz == nil ||
		math.Abs(float64(*fast.ClockMHz)/1900-1) > 0.06 || fast.Throttle != 4 {
		t.Errorf("roofline %v, bytes %d, clock %v", fast.Roofline, fast.Bytes, fast.ClockMHz)
	}
	if len(fast.SamplesNS) != fast.N || len(fast.Rounds) != fast.N || len(fast.Positions) != fast.N ||
		len(fast.ClocksMHz) != fast.N {
		t.Error("not every sample has its round, place and clock")
	}
	if w := speedVerdictOf(result, "fake/slow", "fake/fast"); w != "SLOWER" {
		t.Errorf("slow is %q: %+v", w, result.Comparisons)
	}
	if w := speedVerdictOf(result, "fake/fast", "fake/fast"); w == "FASTER" || w == "SLOWER" || w == "" {
		t.Errorf("A/A: %q", w)
	}
	if len(kept.timings) != 2 || slices.Contains(f.card.Order, "fake/wrong") {
		t.Errorf("what failed was timed: %d timings", len(kept.timings))
	}
	first := slices.Index(f.card.Order, "fake/fast")
	order := f.card.Order[first:]
	if want := []string{
		"fake/fast", "fake/slow", "fake/fast", "fake/fast", "fake/slow",
		"fake/fast",
	}; !slices.Equal(order[:6], want) {
		t.Errorf("the first two rounds go %v, want %v", order[:6], want)
	}
	if len(kept.ceilings) != 2 || *kept.ceilings[1].BytesPerSecond < 3.9e12 {
		t.Errorf("ceilings: %+v", kept.ceilings)
	}
}

// other is a backend that nobody asked for: it measures the ceilings of the card.
type other struct{ *timedFake }

func (o other) Name() string       { return "other" }
func (o other) Families() []string { return []string{"other"} }

// TestCeilingsOfOthers: the share of the roofline is computed from the measured copy, whichever backend
// measures it; without a copy there is none.
func TestCeilingsOfOthers(t *testing.T) {
	f := timedFakes(t, 0.001, map[string]float64{"fake/one": 1e5})
	f.without = []string{backend.CeilingCopy}
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

// TestTimedOutputsAreJudged: the outputs of the timed calls are judged: an implementation that was right when
// judged and wrong when timed has no time.
func TestTimedOutputsAreJudged(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/lazy": 1e4, "fake/right": 1e5})
	f.after = map[string]way{"fake/lazy": zeros}
	result, _ := bench(t, f, coldPlan)
	if got := timingOf(t, result, "fake/lazy"); got.Status != op.StatusFail ||
		!strings.HasPrefix(got.Message, "what the timed calls wrote") {
		t.Errorf("%v %q", got.Status, got.Message)
	}
	if got := timingOf(t, result, "fake/right"); got.Status != op.StatusPass ||
		speedVerdictOf(result, "fake/right", "fake/lazy") != "" {
		t.Errorf("%v, compared with what is wrong: %+v", got.Status, result.Comparisons)
	}
}

// TestCrashWhileTimed: an implementation that crashes while it is timed costs the others nothing.
func TestCrashWhileTimed(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/bad": 9e4, "fake/right": 1e5})
	f.ends = map[string]backend.Outcome{"fake/bad": {Status: op.StatusCrash, Sentence: "illegal address"}}
	o, _ := truth.Get("softmax")
	kept := &memory{}
	r := &Runner{Backends: []backend.Backend{f}, Recorder: kept, Timings: kept, Stop: t.Context()}
	result, err := r.Bench(t.Context(), Request{
		Operators: []*truth.Operator{o}, Seed: 1, Timing: &coldPlan,
		Options: op.Options{
			Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
			Dims: map[string]int64{"rows": 5, "cols": 33},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := timingOf(t, result, "fake/bad"); got.Status != op.StatusCrash ||
		got.Message != "illegal address" {
		t.Errorf("%v %q", got.Status, got.Message)
	}
	if got := timingOf(t, result, "fake/right"); got.Status != op.StatusPass {
		t.Errorf("%v %q", got.Status, got.Message)
	}
}
