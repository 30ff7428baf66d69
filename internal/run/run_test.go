package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/timing"
	"triad/internal/truth"
)

// fake is a backend in this process. Each implementation is a way of computing softmax, right or wrong.
type fake struct {
	family string
	ways   map[string]way
	load   error
	failed []backend.LoadFailure
	mu     sync.Mutex
	runs   map[string]int
}

// way gives the output of one launch, or an outcome that ends the job.
type way func(x tensor.Tensor, launch int, run int) ([]float64, *backend.Outcome)

func (f *fake) Name() string       { return f.family }
func (f *fake) Families() []string { return []string{f.family} }
func (f *fake) Close() error       { return nil }

func (f *fake) Measure(context.Context, backend.MeasureJob) (backend.Candidate, backend.Outcome, error) {
	return nil, backend.Outcome{Status: op.StatusUnsupported, Sentence: "it has no clock"}, nil
}

func (f *fake) Load(context.Context, string) (backend.LoadReply, backend.HelloReply, error) {
	reply := backend.LoadReply{Failed: f.failed}
	for name := range f.ways {
		reply.Implementations = append(reply.Implementations, backend.Implementation{
			Name: name, Op: "softmax", Pass: op.Forward,
			DTypes: []string{"fp32", "fp16", "bf16"}, Contract: "fp32", Outputs: []string{"y"}, Device: "cpu",
			Source: "fake",
		})
	}
	slices.SortFunc(reply.Implementations,
		func(a, b backend.Implementation) int { return strings.Compare(a.Name, b.Name) })
	return reply, backend.HelloReply{Versions: map[string]string{"fake": "1"}}, f.load
}

func (f *fake) Run(_ context.Context, job backend.Job) (backend.Outcome, error) {
	f.mu.Lock()
	run := f.runs[job.Implementation.Name]
	f.runs[job.Implementation.Name]++
	f.mu.Unlock()
	var outcome backend.Outcome
	for i, plan := range job.Launches {
		y, other := f.ways[job.Implementation.Name](job.Inputs[0], i, run)
		if other != nil {
			return *other, nil
		}
		out := tensor.New("y", job.Outputs[0].DType, job.Outputs[0].Shape)
		tensor.Poison(out.Data, out.DType, plan.Poison)
		if y != nil {
			out.SetFloat64s(y)
		}
		outcome.Launches = append(outcome.Launches, backend.LaunchOutcome{
			Plan: plan,
			Outputs: []backend.Output{{
				Tensor: out,
				OutputRef: backend.OutputRef{
					Name: "y", Present: true, DType: out.DType.String(),
					Shape: out.Shape, Stride: out.Stride,
				},
			}},
		})
	}
	return outcome, nil
}

// softmax computes the formula in fp64.
func softmax(x tensor.Tensor) []float64 {
	v, cols := x.Float64s(), int(x.Shape[1])
	for r := 0; cols > 0 && r+cols <= len(v); r += cols {
		row := v[r : r+cols]
		m, sum := slices.Max(row), 0.0
		if slices.ContainsFunc(row, math.IsNaN) {
			m = math.NaN()
		}
		for i := range row {
			row[i] = math.Exp(row[i] - m)
			sum += row[i]
		}
		for i := range row {
			row[i] /= sum
		}
	}
	return v
}

func right(x tensor.Tensor, _, _ int) ([]float64, *backend.Outcome) { return softmax(x), nil }

func zeros(x tensor.Tensor, _, _ int) ([]float64, *backend.Outcome) {
	return make([]float64, x.Elements()), nil
}

func unwritten(tensor.Tensor, int, int) ([]float64, *backend.Outcome) { return nil, nil }

func crash(tensor.Tensor, int, int) ([]float64, *backend.Outcome) {
	return nil, &backend.Outcome{Status: op.StatusCrash, Sentence: "exited 7"}
}

func crashOnce(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
	if run == 0 {
		return crash(x, launch, run)
	}
	return right(x, launch, run)
}

func racing(x tensor.Tensor, launch, _ int) ([]float64, *backend.Outcome) {
	y := softmax(x)
	if launch > 0 && len(y) > 0 {
		y[0] *= 1.5
	}
	return y, nil
}

// memory is a Recorder that keeps everything, and fails with fail if it is set.
type memory struct {
	plan    []record.Item
	records []record.Record
	done    map[string]bool
	fail    error

	timings  []record.Timing
	ceilings []record.Ceiling
}

func (m *memory) Plan(items []record.Item, _ record.Toolchain) error { m.plan = items; return nil }
func (m *memory) Done(i record.Item) bool                            { return m.done[i.Impl] }
func (m *memory) Append(r *record.Record) error {
	if m.fail != nil {
		return m.fail
	}
	m.records = append(m.records, *r)
	return nil
}
func (m *memory) AppendDifferences([]record.Difference) error { return nil }

// faked returns the operator that the fakes compute.
func faked(t *testing.T) *truth.Operator {
	t.Helper()
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// compare runs the fakes' operator on one shape.
func compare(t *testing.T, kept *memory, impls []string, backends ...backend.Backend) (Result, error) {
	t.Helper()
	o := faked(t)
	r := &Runner{Backends: backends, Recorder: kept, Stop: t.Context()}
	return r.Compare(t.Context(), Request{
		Operators: []*truth.Operator{o}, Impls: impls, Seed: 1,
		Options: op.Options{
			Level:  op.LevelQuick,
			Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"}, Dims: map[string]int64{
				"rows": 5,
				"cols": 33,
			}, Distributions: []string{"normal"},
		},
	})
}

func fakes(ways map[string]way) *fake {
	return &fake{family: "fake", ways: ways, runs: map[string]int{}}
}

// TestStatuses: every kind of fault gets its status, and the others are still judged.
func TestStatuses(t *testing.T) {
	kept := &memory{}
	result, err := compare(t, kept, nil, fakes(map[string]way{
		"fake/right": right, "fake/zeros": zeros, "fake/unwritten": unwritten,
		"fake/crash": crash, "fake/flaky": crashOnce, "fake/race": racing,
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]op.Status{
		"fake/right": op.StatusPass, "fake/zeros": op.StatusFail, "fake/unwritten": op.StatusFail,
		"fake/crash": op.StatusCrash, "fake/flaky": op.StatusFlaky, "fake/race": op.StatusRace,
	}
	if len(kept.records) != len(want) || len(result.Records) != len(want) || len(kept.plan) != len(want) {
		t.Errorf("%d recorded, %d in the result, %d planned: want %d", len(kept.records), len(result.Records),
			len(kept.plan), len(want))
	}
	for _, r := range kept.records {
		if r.Status != want[r.Impl] {
			t.Errorf("%s: %v (%s), want %v", r.Impl, r.Status, r.Message, want[r.Impl])
		}
	}
	for _, r := range kept.records {
		if r.Impl == "fake/zeros" && (r.Outputs[0].Worst == nil || r.Outputs[0].NWrong != 165 ||
			!strings.Contains(r.Outputs[0].Pattern, "every element is wrong")) {
			t.Errorf("the worst element of zeros: %+v", r.Outputs[0])
		}
	}
	if len(result.Differences) == 0 {
		t.Error("implementations were not compared with each other")
	}
}

// TestUnavailable: a missing toolchain is a row and, if asked for by name, a reason; the rest is judged.
func TestUnavailable(t *testing.T) {
	gone := fakes(nil)
	gone.family, gone.load = "gone", &backend.Unavailable{Sentence: "no g++: install it"}
	kept := &memory{}
	result, err := compare(t, kept, nil, fakes(map[string]way{"fake/right": right}), gone)
	if err != nil || len(kept.records) != 2 || len(result.Unavailable) != 0 {
		t.Fatalf("%v %+v", err, kept.records)
	}
	i := slices.IndexFunc(kept.records, func(r record.Record) bool { return r.Impl == "gone" })
	if i < 0 || kept.records[i].Status != op.StatusUnavailable ||
		kept.records[i].Message != "no g++: install it" {
		t.Errorf("%+v", kept.records)
	}
	result, err = compare(t, &memory{}, []string{"gone"}, fakes(map[string]way{"fake/right": right}), gone)
	if err != nil || len(result.Unavailable) != 1 {
		t.Errorf("asked for by name: %v %+v", err, result.Unavailable)
	}
}

// TestUnknownImplementation: a prefix that matches nothing is a usage error that lists what there is.
func TestUnknownImplementation(t *testing.T) {
	b := fakes(map[string]way{"fake/right": right, "fake/right_too": right})
	for impl, want := range map[string]string{
		"cuda":      "want a prefix such as fake",
		"fake/left": "it has fake/right, fake/right_too",
	} {
		_, err := compare(t, &memory{}, []string{impl}, b)
		var u *op.UsageError
		if !errors.As(err, &u) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", impl, err)
		}
	}
	kept := &memory{}
	if _, err := compare(t, kept, []string{"fake/right"}, b); err != nil || len(kept.records) != 1 {
		t.Errorf("an exact name means itself alone: %v %d records", err, len(kept.records))
	}
	kept = &memory{}
	if _, err := compare(t, kept, []string{"fake/ri"}, b); err != nil || len(kept.records) != 2 {
		t.Errorf("a prefix means all that begin so: %v %d records", err, len(kept.records))
	}
}

// TestContractNotPermitted: a contract that the operator does not permit, or that is unknown, is rejected
// before anything runs, in a sentence that says what is allowed.
func TestContractNotPermitted(t *testing.T) {
	for _, contract := range []string{"eager", "p16", "sloppy", ""} {
		b := &contractFake{fakes(map[string]way{"fake/right": right}), contract}
		kept := &memory{}
		if _, err := compare(t, kept, nil, b); err != nil {
			t.Fatal(err)
		}
		want := fmt.Sprintf(`fake/right declares the contract %q for the forward of softmax in fp32, `+
			`which softmax does not permit: want fp32 or product16`, contract)
		if r := kept.records[0]; len(kept.records) != 1 || r.Status != op.StatusFail || r.Message != want ||
			len(r.Outputs) != 0 || b.runs["fake/right"] != 0 {
			t.Errorf("%v %s, %d jobs ran: want %s", r.Status, r.Message, b.runs["fake/right"], want)
		}
	}
}

type contractFake struct {
	*fake
	contract string
}

func (c *contractFake) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply,
	error,
) {
	reply, hello, err := c.fake.Load(ctx, operator)
	for i := range reply.Implementations {
		reply.Implementations[i].Contract = c.contract
	}
	return reply, hello, err
}

// TestResumeAndRecorderFailure: what a resumed session has recorded is not run again; a failing recorder
// stops the run with its error.
func TestResumeAndRecorderFailure(t *testing.T) {
	b := fakes(map[string]way{"fake/right": right, "fake/zeros": zeros})
	kept := &memory{done: map[string]bool{"fake/zeros": true}}
	if _, err := compare(t, kept, nil, b); err != nil || len(kept.records) != 1 ||
		kept.records[0].Impl != "fake/right" {
		t.Errorf("resumed: %v %+v", err, kept.records)
	}
	full := errors.New("no space for the database")
	if _, err := compare(t, &memory{fail: full}, nil, b); !errors.Is(err, full) {
		t.Errorf("a full disk: %v", err)
	}
}

// TestStopped: a stopped run finishes nothing more and says so.
func TestStopped(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	stop, cancel := context.WithCancel(t.Context())
	cancel()
	r := &Runner{
		Backends: []backend.Backend{fakes(map[string]way{"fake/right": right})}, Recorder: &memory{},
		Stop: stop,
	}
	result, err := r.Compare(t.Context(), Request{
		Operators: []*truth.Operator{o}, Seed: 1,
		Options: op.Options{Level: op.LevelQuick},
	})
	if err != nil || !result.Interrupted || len(result.Records) > 2 {
		t.Errorf("%v interrupted=%v, %d records", err, result.Interrupted, len(result.Records))
	}
}

// TestStoppedWhileLoading: a run that is ended at once while its implementations are still loaded is
// interrupted, and no failure.
func TestStoppedWhileLoading(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	slow := fakes(map[string]way{"fake/right": right})
	slow.load = ctx.Err()
	r := &Runner{Backends: []backend.Backend{slow}, Recorder: &memory{}, Stop: ctx}
	request := Request{Operators: []*truth.Operator{o}, Seed: 1, Timing: &timing.Plan{}}
	for verb, do := range map[string]func(context.Context, Request) (Result, error){
		"compare": r.Compare,
		"bench":   r.Bench,
	} {
		if result, err := do(ctx, request); err != nil || !result.Interrupted {
			t.Errorf("%s: %v interrupted=%v", verb, err, result.Interrupted)
		}
	}
	if _, err := r.Compare(t.Context(), request); err == nil {
		// the same failure of a run that nobody stopped
		t.Error("no error")
	}
}

// badReference is a user's own softmax whose truth is not fit to judge with.
type badReference struct{ spoil func(c *truth.Computed) }

func (b badReference) Compute(c op.Case, _ string, in []tensor.Tensor) ([]truth.Computed, error) {
	y := softmax(in[0])
	one := truth.Computed{R: y, T: make([]float64, len(y)), Simulated: slices.Clone(y)}
	b.spoil(&one)
	return []truth.Computed{one}, nil
}

func (badReference) Prove(op.Case, []tensor.Tensor, uint64) (truth.Step, error) {
	return truth.Step{}, nil
}

// spoiledTruths are truths that cannot judge, with words of the error about each.
var spoiledTruths = map[string]struct {
	spoil func(c *truth.Computed)
	want  []string
}{
	"R is NaN": {
		func(c *truth.Computed) { c.R[3] = math.NaN() },
		[]string{"y is NaN", "element 3"},
	},
	"R is infinite": {
		func(c *truth.Computed) { c.R[3] = math.Inf(1) },
		[]string{"y is +Inf", "element 3"},
	},
	"R is too short": {
		func(c *truth.Computed) { c.R = c.R[1:] },
		[]string{"164 values", "y", "want 165"},
	},
	"T is too short": {
		func(c *truth.Computed) { c.T = c.T[1:] },
		[]string{"164 error bounds", "y", "want 165"},
	},
	"sim is too long": {
		func(c *truth.Computed) { c.Simulated = append(c.Simulated, 0) },
		[]string{"166 simulated", "y", "want 165"},
	},
	"T is infinite": {
		func(c *truth.Computed) { c.T[7] = math.Inf(1) },
		[]string{"y", "[0 7]", "T = +Inf", "want finite error bounds >= 0"},
	},
	"T is NaN": {
		func(c *truth.Computed) { c.T[7] = math.NaN() },
		[]string{"y", "[0 7]", "T = NaN", "want finite error bounds >= 0"},
	},
	"T is negative": {
		func(c *truth.Computed) { c.T[7] = -1 },
		[]string{"y", "[0 7]", "T = -1", "want finite error bounds >= 0"},
	},
	"sim is NaN": {
		func(c *truth.Computed) { c.Simulated[7] = math.NaN() },
		[]string{"element 7 of y", "sim = NaN"},
	},
	"sim is infinite": {
		func(c *truth.Computed) { c.Simulated[7] = math.Inf(-1) },
		[]string{"element 7 of y", "sim = -Inf"},
	},
	"an output is missing": {
		func(c *truth.Computed) { *c = truth.Computed{} },
		[]string{"0 values", "y", "want 165"},
	},
}

// TestATruthThatCannotJudge: a truth that is not finite has its case skipped, with a sentence that names the
// operator, the output and the value; any other that cannot judge ends the run with an error that says what
// is wanted. Nothing passes under it, even a kernel that gives what the truth says.
func TestATruthThatCannotJudge(t *testing.T) {
	softmaxOperator, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range spoiledTruths {
		kept := &memory{}
		r := &Runner{
			Backends: []backend.Backend{fakes(map[string]way{"fake/right": right})}, Recorder: kept,
			Stop: t.Context(),
		}
		o := &truth.Operator{Spec: softmaxOperator.Spec, Reference: badReference{c.spoil}}
		_, err := r.Compare(t.Context(),
			Request{Operators: []*truth.Operator{o}, Seed: 1, Options: op.Options{
				Level:  op.LevelQuick,
				Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
				Dims: map[string]int64{"rows": 5, "cols": 33}, Distributions: []string{"normal"},
			}})
		if strings.HasSuffix(name, "NaN") || strings.HasSuffix(name, "infinite") {
			if err != nil || len(kept.records) != 1 || kept.records[0].Status != op.StatusSkipped {
				t.Errorf("%s: %v, %+v", name, err, kept.records)
				continue
			}
			err = errors.New(kept.records[0].Message)
		} else if err == nil || len(kept.records) != 0 {
			t.Errorf("%s: %v, %d records", name, err, len(kept.records))
			continue
		}
		for _, want := range append(c.want, "softmax") {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v: want it to say %q", name, err, want)
			}
		}
	}
}

// TestLanes: on a CPU the implementations of a family follow each other; on a GPU each waits only for its
// worker.
func TestLanes(t *testing.T) {
	of := func(device string) [][]int {
		var entries []entry
		for _, name := range []string{"cuda/a", "torch/a", "cuda/b"} {
			entries = append(entries, entry{implementation: backend.Implementation{
				Name:   name,
				Device: device,
			}})
		}
		return lanes(entries)
	}
	if got := fmt.Sprint(of("emulator")); got != "[[0 2] [1]]" {
		t.Errorf("in the emulator: %s", got)
	}
	if got := fmt.Sprint(of("gpu")); got != "[[0] [1] [2]]" {
		t.Errorf("on a GPU: %s", got)
	}
}
