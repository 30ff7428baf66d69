package run

import (
	"context"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// ending returns a way that ends every call in the same outcome.
func ending(o backend.Outcome) way {
	return func(tensor.Tensor, int, int) ([]float64, *backend.Outcome) { return nil, &o }
}

var (
	hung   = backend.Outcome{Status: op.StatusHang, Sentence: "no answer", Ended: true}
	died   = backend.Outcome{Status: op.StatusCrash, Sentence: "exited 7", Ended: true}
	raised = backend.Outcome{Status: op.StatusCrash, Sentence: "ValueError: oh no"}
)

// quickly runs compare on all quick cases of softmax, each called alone.
func quickly(t *testing.T, kept *memory, before []record.Record, b backend.Backend) Result {
	t.Helper()
	return limited(t, kept, before, b, 0)
}

// limited is quickly with a limit on the time of the cases of each implementation whose name begins with
// fake/limited.
func limited(t *testing.T, kept *memory, before []record.Record, b backend.Backend,
	limit time.Duration,
) Result {
	t.Helper()
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	r := &Runner{Backends: []backend.Backend{b}, Recorder: kept, Stop: t.Context()}
	result, err := r.Compare(t.Context(), Request{
		Operators: []*truth.Operator{o}, Seed: 1, Before: before, CasesLimit: limit,
		Limited: func(name string) bool { return strings.HasPrefix(name, "fake/limited") },
		Single:  true, Options: op.Options{
			Level:  op.LevelQuick,
			Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32", "bf16"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// statuses counts the statuses of an implementation.
func statuses(records []record.Record, impl string) map[op.Status]int {
	count := map[op.Status]int{}
	for _, r := range records {
		if r.Impl == impl {
			count[r.Status]++
		}
	}
	return count
}

// TestGivenUp: an implementation that hung twice or lost its worker three times is not run on its remaining
// cases. They are SKIPPED, every item of the plan is recorded once, and the others go on. An exception costs
// nothing, so that such an implementation runs on every case.
func TestGivenUp(t *testing.T) {
	b := fakes(map[string]way{
		"fake/hangs": ending(hung), "fake/dies": ending(died),
		"fake/raises": ending(raised), "fake/right": right,
	})
	kept := &memory{}
	result := quickly(t, kept, nil, b)
	cases := len(kept.plan) / 4
	if cases < 8 || len(result.Records) != len(kept.plan) || len(kept.records) != len(kept.plan) {
		t.Fatalf("%d recorded, %d in the result, %d planned", len(kept.records), len(result.Records),
			len(kept.plan))
	}
	seen := map[string]bool{}
	for _, r := range kept.records {
		if key := r.Impl + " " + r.Case.Key(); seen[key] {
			t.Errorf("%s is recorded twice", key)
		} else {
			seen[key] = true
		}
		want := map[string]string{"fake/hangs": "HANG on 2 cases", "fake/dies": "CRASH on 3 cases"}[r.Impl]
		if r.Status == op.StatusSkipped && !strings.HasPrefix(r.Message, "not run: it ended "+want+
			" before this one; --dims") {
			t.Errorf("%s: %q", r.Impl, r.Message)
		}
	}
	for impl, want := range map[string]map[op.Status]int{
		"fake/hangs":  {op.StatusHang: 2, op.StatusSkipped: cases - 2},
		"fake/dies":   {op.StatusCrash: 3, op.StatusSkipped: cases - 3},
		"fake/raises": {op.StatusCrash: cases},
	} {
		if got := statuses(kept.records, impl); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v, want %v", impl, got, want)
		}
	}
	if got := statuses(kept.records, "fake/right"); got[op.StatusPass] == 0 || got[op.StatusSkipped] > 0 {
		t.Errorf("fake/right: %v", got)
	}
	for impl, want := range map[string]int{"fake/hangs": 2, "fake/dies": 6, "fake/raises": 2 * cases} {
		// a crash is run once more
		if b.runs[impl] != want {
			t.Errorf("%s ran %d times, want %d", impl, b.runs[impl], want)
		}
	}
}

// TestNotGivenUpWhereCasesComeBack: a case that returns resets the count of an implementation.
func TestNotGivenUpWhereCasesComeBack(t *testing.T) {
	var mu sync.Mutex
	order := map[string]int{} // of the inputs, as they are launched: every third one hangs
	b := fakes(map[string]way{"fake/now_and_then": func(x tensor.Tensor, launch, run int) ([]float64,
		*backend.Outcome,
	) {
		mu.Lock()
		defer mu.Unlock()
		data := fmt.Sprint(x.DType, x.Shape, crc32.ChecksumIEEE(x.Data))
		if _, known := order[data]; !known {
			order[data] = len(order)
		}
		if order[data]%3 == 1 {
			return nil, &hung
		}
		return softmax(x), nil
	}})
	kept := &memory{}
	quickly(t, kept, nil, b)
	if got := statuses(kept.records, "fake/now_and_then"); got[op.StatusSkipped] > 0 ||
		got[op.StatusHang] < 3 {
		t.Errorf("%v", got)
	}
}

// TestGivenUpBeforeAResume: the hangs that an interrupted session recorded count for the session that resumes
// it.
func TestGivenUpBeforeAResume(t *testing.T) {
	first := &memory{}
	quickly(t, first, nil, fakes(map[string]way{"fake/hangs": ending(hung)}))
	b := fakes(map[string]way{"fake/hangs": ending(hung)})
	kept := &memory{}
	hangs := slices.DeleteFunc(slices.Clone(first.records), func(r record.Record) bool {
		return r.Status != op.StatusHang
	})
	quickly(t, kept, hangs, b)
	if got := statuses(kept.records, "fake/hangs"); b.runs["fake/hangs"] != 0 ||
		got[op.StatusSkipped] != len(kept.plan) {
		t.Errorf("%d runs, %v", b.runs["fake/hangs"], got)
	}
}

// TestBenchGivesUp: bench gives up in the same way, over its points.
func TestBenchGivesUp(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	b := &launchless{fakes(map[string]way{"fake/hangs": ending(hung)})}
	kept := &memory{}
	r := &Runner{Backends: []backend.Backend{b}, Recorder: kept, Timings: kept, Stop: t.Context()}
	plan := coldPlan
	_, err = r.Bench(t.Context(), Request{
		Operators: []*truth.Operator{o}, Seed: 1, Timing: &plan,
		Options: op.Options{
			Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32", "bf16", "fp16"},
			Dims: map[string]int64{"rows": 4},
		},
	})
	if got := statuses(kept.records, "fake/hangs"); err != nil || got[op.StatusHang] != 2 ||
		got[op.StatusSkipped] != len(kept.plan)-2 || len(kept.plan) < 4 {
		t.Errorf("%v, %d planned: %v", got, len(kept.plan), err)
	}
}

// breaking is a backend that answers a cancelled run with a fault of the machine or of the kernel.
type breaking struct {
	*fake
	cancel  func()
	outcome backend.Outcome
	err     error
}

func (b *breaking) Run(context.Context, backend.Job) (backend.Outcome, error) {
	b.cancel()
	return b.outcome, b.err
}

// TestBrokenOffAccusesNobody: whatever a backend makes of a cancelled run, nothing of it is recorded: neither
// a missing toolchain nor a crash of a kernel.
func TestBrokenOffAccusesNobody(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]breaking{
		"a crash":             {outcome: died},
		"a missing toolchain": {err: &backend.Unavailable{Sentence: "no python3: install one"}},
		"a broken build":      {err: &backend.BuildFailure{Sentence: "no g++"}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		c.fake, c.cancel = fakes(map[string]way{"fake/right": right}), cancel
		kept := &memory{}
		r := &Runner{Backends: []backend.Backend{&c}, Recorder: kept, Stop: ctx}
		result, err := r.Compare(ctx, Request{
			Operators: []*truth.Operator{o}, Seed: 1,
			Options: op.Options{Level: op.LevelQuick, Passes: []op.Pass{op.Forward}},
		})
		if err != nil || !result.Interrupted || len(kept.records) != 0 || len(result.Records) != 0 {
			t.Errorf("%s: %v, interrupted = %v, %+v", name, err, result.Interrupted, kept.records)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	gone := fakes(nil)
	gone.load = &backend.Unavailable{Sentence: "no python3: install one"}
	result, err := (&Runner{Backends: []backend.Backend{gone}, Recorder: &memory{}, Stop: ctx}).Compare(ctx,
		Request{Operators: []*truth.Operator{o}, Impls: []string{"fake"}})
	if err != nil || !result.Interrupted || len(result.Unavailable) != 0 {
		t.Errorf("while loading: %v, interrupted = %v, %q", err, result.Interrupted, result.Unavailable)
	}
}

// TestBrokenBuildOfAStoppedRun: a failed build is recorded even if the run was stopped during the build: the
// build may be why it was stopped. Nothing else is recorded.
func TestBrokenBuildOfAStoppedRun(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	stop, cancel := context.WithCancel(t.Context())
	cancel()
	broken := fakes(nil)
	broken.family, broken.load = "broken", &backend.BuildFailure{Sentence: "loading did not end"}
	kept := &memory{}
	r := &Runner{
		Backends: []backend.Backend{fakes(map[string]way{"fake/right": right}), broken},
		Recorder: kept, Stop: stop,
	}
	result, err := r.Compare(t.Context(), Request{
		Operators: []*truth.Operator{o}, Seed: 1,
		Options: op.Options{Level: op.LevelQuick, Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"}},
	})
	if err != nil || !result.Interrupted || len(kept.records) != 1 ||
		kept.records[0].Status != op.StatusBuildFail || kept.records[0].Message != "loading did not end" {
		t.Errorf("%v, interrupted = %v, %+v", err, result.Interrupted, kept.records)
	}
}

// launchless measures nothing, ceilings included.
type launchless struct{ *fake }

func (launchless) Measure(context.Context, backend.MeasureJob) (backend.Candidate, backend.Outcome, error) {
	return nil, backend.Outcome{Status: op.StatusUnsupported}, nil
}

// TestLossesOfADType: dtypes are judged side by side on a GPU: a success in one says nothing of another that
// hangs.
func TestLossesOfADType(t *testing.T) {
	x := &execution{}
	for device, givenUp := range map[string]bool{"gpu": true, "emulator": false} {
		e := entry{implementation: backend.Implementation{Op: "softmax", Pass: op.Forward, Name: "triton/" +
			device, Device: device}}
		for range mostHangs {
			x.lossesOf(e, "bf16").note(backend.Outcome{Status: op.StatusHang})
			x.lossesOf(e, "fp32").note(backend.Outcome{})
		}
		if got := x.lossesOf(e, "bf16").ruling("bf16") != nil; got != givenUp {
			t.Errorf("%s: given up %v, want %v", device, got, givenUp)
		}
		if x.lossesOf(e, "fp32").ruling("fp32") != nil {
			t.Errorf("%s: what came back is given up", device)
		}
	}
}

// doubtful is a backend whose implementations were read with guesses.
type doubtful struct {
	*fake
	doubts map[string][]backend.Doubt
}

func (d doubtful) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply, error) {
	reply, hello, err := d.fake.Load(ctx, operator)
	for i, implementation := range reply.Implementations {
		reply.Implementations[i].Doubts = d.doubts[implementation.Name]
	}
	return reply, hello, err
}

// TestGivenUpWhereNotUnderstood: a function that triad may have read wrongly, and that is right nowhere, is
// not run on all cases: the rest is SKIPPED. One that is right somewhere is run on all of them, and so is one
// whose guess concerns only some cases, or none.
func TestGivenUpWhereNotUnderstood(t *testing.T) {
	wide := func(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
		if x.Shape[1] < 20 {
			return softmax(x), nil
		}
		return zeros(x, launch, run)
	}
	b := doubtful{fakes(map[string]way{
		"fake/nowhere": zeros, "fake/somewhere": wide, "fake/some_dtypes": zeros, "fake/sure": zeros,
	}), map[string][]backend.Doubt{
		"fake/nowhere": {{Why: "a guess"}}, "fake/somewhere": {{Why: "a guess"}},
		"fake/some_dtypes": {{Why: "a guess", DType: "fp32"}},
	}}
	kept := &memory{}
	quickly(t, kept, nil, b)
	// cases run side by side: others are launched before the third is counted
	got := statuses(kept.records, "fake/nowhere")
	if n := got[op.StatusNotUnderstood]; n < 2*mostDoubted || n > 2*(mostDoubted+inFlightAlone-1) ||
		got[op.StatusSkipped] < 3 || got[op.StatusFail] > 0 {
		t.Errorf("fake/nowhere: %v", got)
	}
	for _, r := range kept.records {
		if r.Impl == "fake/nowhere" && r.Status == op.StatusSkipped &&
			!strings.HasPrefix(r.Message, "not run: it ended NOT_UNDERSTOOD on ") {
			t.Errorf("%q", r.Message)
		}
	}
	for _, impl := range []string{"fake/somewhere", "fake/some_dtypes", "fake/sure"} {
		if got := statuses(kept.records, impl); got[op.StatusSkipped] > 0 {
			t.Errorf("%s: %v", impl, got)
		}
	}
}

// TestCasesLimit: an implementation whose cases exceed their time is SKIPPED with the flag that allows more;
// the others go on.
func TestCasesLimit(t *testing.T) {
	kept := &memory{}
	const limit = 2 * time.Second
	slow := func(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
		if run == 0 && launch == 0 {
			time.Sleep(limit)
		}
		return right(x, launch, run)
	}
	b := fakes(map[string]way{"fake/limited": slow, "fake/limited too": right, "fake/right": right})
	limited(t, kept, nil, b, limit)
	if got := statuses(kept.records, "fake/limited"); len(got) != 2 || got[op.StatusSkipped] < 3 {
		t.Errorf("%v", got)
	}
	if got := statuses(kept.records, "fake/limited too"); got[op.StatusSkipped] > 0 {
		t.Errorf("what another one takes counts against it: %v", got)
	}
	for _, r := range kept.records {
		if r.Status == op.StatusSkipped && !strings.Contains(r.Message, "--limit cases=") {
			t.Errorf("%q", r.Message)
		}
	}
	if got := statuses(kept.records, "fake/right"); got[op.StatusPass] == 0 || got[op.StatusSkipped] > 0 {
		t.Errorf("%v", got)
	}
	kept = &memory{}
	limited(t, kept, nil, fakes(map[string]way{"fake/limited": right}), time.Hour)
	if got := statuses(kept.records, "fake/limited"); got[op.StatusSkipped] > 0 {
		t.Errorf("%v", got)
	}
}

// TestCasesLimitCountsTwoPassesOnce: cases that run at the same time share their time. Two passes of 50
// minutes side by side leave a limit of an hour, one after the other they do not.
func TestCasesLimitCountsTwoPassesOnce(t *testing.T) {
	e := entry{implementation: backend.Implementation{Name: "fake/limited"}}
	for beside, want := range map[bool]bool{true: false, false: true} {
		x := &execution{request: Request{
			CasesLimit: time.Hour, Limited: func(string) bool { return true },
		}}
		took, now := x.took.of(e.implementation.Name), time.Now()
		took.begin(now.Add(-100 * time.Minute))
		if beside {
			took.begin(now.Add(-100 * time.Minute))
			took.end(now.Add(-50 * time.Minute))
		}
		took.end(now.Add(-50 * time.Minute))
		if !beside {
			took.begin(now.Add(-50 * time.Minute))
			took.end(now)
		}
		if got := x.tooLong(e) != nil; got != want {
			t.Errorf("side by side %v: too long %v, want %v", beside, got, want)
		}
	}
}

// TestNoGuessExcusesAHang: a function that never returns is a hang, whatever the guess it was read with.
func TestNoGuessExcusesAHang(t *testing.T) {
	doubts := []backend.Doubt{{Why: "its second parameter was taken for the number of rows"}}
	for status, want := range map[op.Status]op.Status{
		op.StatusHang: op.StatusHang, op.StatusFail: op.StatusNotUnderstood,
	} {
		r := record.Record{Status: status, Message: "no answer"}
		entry{implementation: backend.Implementation{Doubts: doubts}}.doubted(&r)
		if r.Status != want || !strings.Contains(r.Message, doubts[0].Why) {
			t.Errorf("%v ends %v: %q, want %v", status, r.Status, r.Message, want)
		}
	}
}
