package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/stats"
	"triad/internal/truth"
)

// altered is a GPU whose implementations or arms are not quite those of timedFake.
type altered struct {
	*timedFake
	implementation func(*backend.Implementation)
	facts          func(*backend.PrepareReply)
}

func (f *altered) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply, error) {
	reply, hello, err := f.timedFake.Load(ctx, operator)
	for i := range reply.Implementations {
		if f.implementation != nil {
			f.implementation(&reply.Implementations[i])
		}
	}
	return reply, hello, err
}

func (f *altered) Measure(ctx context.Context, job backend.MeasureJob) (backend.Arm, backend.Outcome, error) {
	arm, outcome, err := f.timedFake.Measure(ctx, job)
	if a, ok := arm.(*fakeArm); ok && f.facts != nil {
		f.facts(&a.facts)
	}
	return arm, outcome, err
}

// benchOn times softmax on a small shape through a backend.
func benchOn(t *testing.T, b backend.Backend) Result {
	t.Helper()
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	kept := &memory{}
	r := &Runner{Backends: []backend.Backend{b}, Recorder: kept, Timings: kept, Stop: t.Context()}
	result, err := r.Bench(t.Context(), Request{Operators: []*truth.Operator{o}, Seed: 1, Timing: &coldPlan,
		Options: op.Options{Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
			Dims: map[string]int64{"rows": 5, "cols": 33}}})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// Calls that crash when what they wrote is fetched have no time to show.
func TestTimedCallsThatCrashAtTheirEnd(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/dies": 1e5})
	f.after = map[string]way{"fake/dies": crash}
	result, _ := bench(t, f, coldPlan)
	got := timingOf(t, result, "fake/dies")
	if got.Status != op.StatusCrash || got.Message != "after its calls were timed: exited 7" {
		t.Errorf("%v %q", got.Status, got.Message)
	}
}

// Sets of the same inputs may get other bits of an output that is declared to vary.
func TestTimedSetsThatMayVary(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/varies": 1e5})
	f.differs = map[string][]backend.Differing{"fake/varies": {{Output: "y", Set: 3, Bytes: 12}}}
	varies := func(i *backend.Implementation) { i.Nondeterministic = []string{"y"} }
	result := benchOn(t, &altered{timedFake: f, implementation: varies})
	if got := timingOf(t, result, "fake/varies"); got.Status != op.StatusPass {
		t.Errorf("%v %q", got.Status, got.Message)
	}
}

// A cold timing whose sets fit into the cache says that it is none, unless the call is too slow for that to
// matter.
func TestNotCold(t *testing.T) {
	f := timedFakes(t, 0.003, map[string]float64{"fake/small": 1e4, "fake/slow": 2e4})
	small := func(p *backend.PrepareReply) { p.RotatedBytes = 1 << 10 }
	result := benchOn(t, &altered{timedFake: f, facts: small})
	got := timingOf(t, result, "fake/small")
	if !strings.HasSuffix(got.Message, "4 sets fit into the L2 cache: not cold") {
		t.Errorf("%q", got.Message)
	}
	if got := timingOf(t, result, "fake/slow"); got.Message != "" {
		t.Errorf("of a slow call: %q", got.Message)
	}
}

// A bench without a plan of timing is refused.
func TestBenchWithoutAPlan(t *testing.T) {
	_, err := (&Runner{}).Bench(t.Context(), Request{})
	if err == nil || err.Error() != "bench: the request has no plan of timing" {
		t.Errorf("%v", err)
	}
}

// A backward whose own forward fails now, though it ran before the session was resumed, is timed as that.
func TestTimedBackwardWhoseForwardFails(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick, Passes: []op.Pass{op.Backward},
		DTypes: []string{"fp32"}, Dims: map[string]int64{"rows": 5, "cols": 33},
		Distributions: []string{"normal"}, Saved: []string{"own"}})
	if err != nil || len(plan.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(plan.Cases), err)
	}
	e := entry{backend: endsWith{outcome: backend.Outcome{Status: op.StatusCrash, Sentence: "exited 7"}},
		implementation: backend.Implementation{Name: "fake/row", Op: "softmax", Pass: op.Backward,
			Contract: "fp32", Device: "gpu"}}
	x := &execution{Runner: &Runner{}, request: Request{Seed: 1}, result: &Result{}}
	c, err := x.prepare(work{operator: o, Case: plan.Cases[0], entries: []entry{e}})
	if err != nil {
		t.Fatal(err)
	}
	h := &heat{execution: x, regime: Regime{Cold: true}}
	passed := []record.Record{{Case: c.Case, Impl: "fake/row", Device: "gpu", Status: op.StatusPass}}
	if err := x.enter(t.Context(), h, c, passed); err != nil || len(h.contenders) != 1 {
		t.Fatalf("%v, %+v", err, h.contenders)
	}
	k := h.contenders[0]
	if k.failed != op.StatusCrash || k.sentence != "its forward fake/row: exited 7" {
		t.Errorf("%v %q", k.failed, k.sentence)
	}
}

// Without a sample there is no time; who fails without a reason has crashed.
func TestContenderWithoutSamples(t *testing.T) {
	k := &contender{record: &record.Record{}}
	summary := func() record.Timing {
		return k.summarise(Regime{Cold: true}, stats.Rulers{}, stats.Limits{}, stats.Work{})
	}
	if got := summary(); got.Status != op.StatusUnstable || got.Message != "no sample was taken" {
		t.Errorf("%v %q", got.Status, got.Message)
	}
	k.fail(backend.Outcome{Sentence: "it ended"})
	if got := summary(); got.Status != op.StatusCrash || got.Message != "it ended" {
		t.Errorf("%v %q", got.Status, got.Message)
	}
}

// A ruler that tells of no bytes gives no share of a roofline.
func TestRulerWithoutBytes(t *testing.T) {
	x := &execution{}
	x.rulers.Copy = 1
	r := x.noteRuler(backend.RulerCopy, backend.PrepareReply{}, []float64{1e6})
	if r.BytesPerSecond != nil || x.rulers.Copy != 0 {
		t.Errorf("%+v, %v", r, x.rulers.Copy)
	}
}

// Each dtype has the ruler of its products.
func TestProducts(t *testing.T) {
	for dtype, want := range map[string]string{"e4m3_row": backend.RulerFP8, "e5m2": backend.RulerFP8,
		"fp32": backend.RulerFP32, "fp16": backend.RulerBF16} {
		if got := product(dtype); got != want {
			t.Errorf("%s: %s, want %s", dtype, got, want)
		}
	}
}

// A rest ends with the run.
func TestRestEndsWithTheRun(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	rest(ctx, time.Hour)
}

// unmeasurable is a backend that cannot be asked for a time.
type unmeasurable struct{ *fake }

func (unmeasurable) Measure(context.Context, backend.MeasureJob) (backend.Arm, backend.Outcome, error) {
	return nil, backend.Outcome{}, errors.New("its worker does not start")
}

// A clock that cannot be read, or fails while it is read, is told of beside the others.
func TestClocksThatFail(t *testing.T) {
	broken := timedFakes(t, 0.003, nil)
	crashed := backend.Outcome{Status: op.StatusCrash, Sentence: "illegal address"}
	broken.ends = map[string]backend.Outcome{backend.RulerMemcpy: crashed}
	all := []backend.Backend{unmeasurable{fakes(nil)}, broken, timedFakes(t, 0.003, nil)}
	clocks, err := Clocks(t.Context(), all)
	if err != nil || clocks[0].Why != "its worker does not start" || clocks[1].Why != "illegal address" {
		t.Errorf("%v %+v", err, clocks)
	}
	if clocks[2].Why != "" || clocks[2].MedianNS == 0 {
		t.Errorf("the clock that can be read: %+v", clocks[2])
	}
}

// surveyed asks what the calls of a backend launch.
func surveyed(t *testing.T, stop context.Context, b backend.Backend, o op.Options) (Survey, error) {
	t.Helper()
	softmax, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	o.DTypes, o.Distributions, o.Layouts = []string{"fp32"}, []string{"normal"}, []string{"contiguous"}
	r := &Runner{Backends: []backend.Backend{b}, Recorder: &memory{}, Stop: stop}
	return r.Survey(t.Context(), Request{Operators: []*truth.Operator{softmax}, Seed: 1, Options: o})
}

// A survey that cannot ask ends with the reason; one that is told to stop asks no further.
func TestSurveyEnds(t *testing.T) {
	o := op.Options{Passes: []op.Pass{op.Forward}}
	b := unmeasurable{fakes(map[string]way{"fake/a": right})}
	if _, err := surveyed(t, t.Context(), b, o); err == nil || !strings.Contains(err.Error(), "does not start") {
		t.Errorf("%v", err)
	}
	stop, cancel := context.WithCancel(t.Context())
	cancel()
	if s, err := surveyed(t, stop, b, o); err != nil || len(s.Reached) > 0 {
		t.Errorf("after a stop: %v, %d calls", err, len(s.Reached))
	}
}

// A backward whose own forward gives nothing launches nothing.
func TestSurveyOfAChainedBackward(t *testing.T) {
	g := &gradients{forwards: map[string]backend.OutputRef{"fake/absent": {Name: "y"}}}
	g.row("fake/absent", "gpu")
	o := op.Options{Passes: []op.Pass{op.Backward}, Saved: []string{"own"},
		Dims: map[string]int64{"rows": 5, "cols": 33}}
	if s, err := surveyed(t, t.Context(), g, o); err != nil || len(s.Reached) > 0 {
		t.Errorf("%v, %+v", err, slices.Clip(s.Reached))
	}
}
