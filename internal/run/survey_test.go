package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/timing/timingtest"
	"triad/internal/truth"
)

// surveyedFake launches one kernel for each number of columns, and another one for rows that are not whole
// vectors.
type surveyedFake struct{ *timedFake }

func (f *surveyedFake) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply,
	error,
) {
	reply, hello, err := f.timedFake.Load(ctx, operator)
	reply.Build = &backend.BuildFacts{Kernels: []backend.KernelFact{
		{Kernel: "short"},
		{Kernel: "long"},
		{Kernel: "never"},
	}}
	return reply, hello, err
}

func (f *surveyedFake) Measure(ctx context.Context, job backend.MeasureJob) (backend.Candidate,
	backend.Outcome,
	error,
) {
	if o, ends := f.ends[job.Implementation.Name]; ends {
		return nil, o, nil
	}
	candidate, outcome, err := f.timedFake.Measure(ctx, job)
	if a, ok := candidate.(*timingtest.Candidate); ok {
		kernel := "short"
		switch {
		case job.Implementation.Name == "cuda/library":
			kernel = "nvjet" // that nobody here compiled
		case job.Inputs[0].Shape[1] > 1000:
			kernel = "long"
		}
		a.Prepared.Kernels = []backend.LaunchFact{{Kernel: kernel}}
		return a, outcome, err
	}
	return nil, outcome, err
}

const surveyedOp = "softmax"

// TestSurvey: a survey says what each call launches; its cover reaches every kernel on both kinds of rows
// with few and small calls; and a run that keeps the cover runs only those.
func TestSurvey(t *testing.T) {
	softmax, err := truth.Get(surveyedOp)
	if err != nil {
		t.Fatal(err)
	}
	f := &surveyedFake{&timedFake{
		fake: &fake{
			family: "cuda", ways: map[string]way{"cuda/a": right, "cuda/b": right},
			runs: map[string]int{},
		},
		card: timingtest.NewCard(t, 0), ns: map[string]float64{"cuda/a": 10},
	}} // b cannot be asked
	m := &memory{}
	r := &Runner{Backends: []backend.Backend{f}, Recorder: m, Stop: t.Context()}
	request := Request{
		Operators: []*truth.Operator{softmax}, Impls: []string{"cuda"}, Seed: 1, Single: true,
		Options: op.Options{
			Level: op.LevelFull, Device: "gpu",
			DTypes: []string{"fp32"}, Passes: []op.Pass{op.Forward}, Distributions: []string{"normal"},
			Layouts: []string{"contiguous"},
		},
	}
	s, err := r.Survey(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(s.Built, []string{"long", "never", "short"}) || f.open.Load() != 0 ||
		len(s.Reached) < 15 {
		t.Errorf("built %v, %d candidates left open, %d calls reached something", s.Built, f.open.Load(),
			len(s.Reached))
	}
	chosen := s.Cover()
	kinds := map[string]bool{}
	keep := map[string]bool{}
	for _, c := range chosen {
		kinds[fmt.Sprint(c.Kernels, c.Vectors)] = true
		keep[c.Case.Key()+c.Impl] = true
	}
	if len(chosen) != 4 || len(kinds) != 4 {
		t.Errorf("the cover has %d calls of the kinds %v, want each of short and long on vectors and on "+
			"ragged rows", len(chosen), kinds)
	}
	for _, c := range chosen {
		for _, other := range s.Reached {
			if slices.Equal(other.Kernels, c.Kernels) && other.Vectors == c.Vectors &&
				other.Elements >= fewestRelated && other.Elements < c.Elements {
				t.Errorf("%v was chosen for %v, and %v is smaller", c.Case.Dims, c.Kernels, other.Case.Dims)
			}
		}
	}
	request.Keep = func(c op.Case, implementation string) bool { return keep[c.Key()+implementation] }
	result, err := r.Compare(t.Context(), request)
	if err != nil || len(result.Records) != 4 || len(m.plan) != 4 {
		t.Errorf("%d records of %d planned, %v: want those of the cover", len(result.Records),
			len(m.plan), err)
	}
}

// TestSurveyOfALibrary: calls that launch only kernels of a library are surveyed, but are in no cover.
func TestSurveyOfALibrary(t *testing.T) {
	softmax, err := truth.Get(surveyedOp)
	if err != nil {
		t.Fatal(err)
	}
	f := &surveyedFake{&timedFake{
		fake: &fake{family: "cuda", ways: map[string]way{"cuda/library": right}, runs: map[string]int{}},
		card: timingtest.NewCard(t, 0), ns: map[string]float64{"cuda/library": 10},
	}}
	r := &Runner{Backends: []backend.Backend{f}, Recorder: &memory{}, Stop: t.Context()}
	s, err := r.Survey(t.Context(), Request{
		Operators: []*truth.Operator{softmax}, Impls: []string{"cuda"}, Seed: 1, Single: true,
		Options: op.Options{
			Level: op.LevelQuick, Device: "gpu", DTypes: []string{"fp32"}, Passes: []op.Pass{op.Forward},
			Distributions: []string{"normal"}, Layouts: []string{"contiguous"},
		},
	})
	if err != nil || len(s.Reached) == 0 {
		t.Fatalf("%d calls were surveyed, %v", len(s.Reached), err)
	}
	chosen, err := s.Watchable()
	if len(chosen) > 0 || err == nil || !strings.Contains(err.Error(), "library alone") {
		t.Errorf("chosen: %+v, %v", chosen, err)
	}
}

// TestCoverWithoutKernels: where a backend cannot tell what a call launches, the cover has one call on whole
// vectors and one on ragged rows for each group.
func TestCoverWithoutKernels(t *testing.T) {
	var s Survey
	for i, cols := range []int64{7, 8, 9, 16} {
		for _, impl := range []string{"cuda/a", "cuda/b"} {
			s.Reached = append(s.Reached, Reached{Case: op.Case{
				Op: "softmax", DType: "fp32",
				Dims: []op.Dim{{Name: "cols", Value: cols}},
			}, Impl: impl, Elements: 200 + cols, Vectors: i%2 == 1})
		}
	}
	chosen := s.Cover()
	if len(chosen) != 4 {
		t.Fatalf("%d calls, want 4: %+v", len(chosen), chosen)
	}
	for _, c := range chosen {
		if cols := c.Case.Dims[0].Value; cols != 7 && cols != 8 {
			t.Errorf("%s: %d columns, want the smallest of each kind", c.Impl, cols)
		}
	}
}

// TestSurveyOfFailures: a call that fails during the survey is still run under the tool; one that is declined
// is not.
func TestSurveyOfFailures(t *testing.T) {
	softmax, err := truth.Get(surveyedOp)
	if err != nil {
		t.Fatal(err)
	}
	f := &surveyedFake{&timedFake{
		fake: &fake{
			family: "cuda", ways: map[string]way{"cuda/bad": right, "cuda/odd": right},
			runs: map[string]int{},
		},
		ends: map[string]backend.Outcome{
			"cuda/bad": {Status: op.StatusCrash},
			"cuda/odd": {Status: op.StatusUnsupported},
		},
	}}
	r := &Runner{Backends: []backend.Backend{f}, Recorder: &memory{}, Stop: t.Context()}
	s, err := r.Survey(t.Context(), Request{
		Operators: []*truth.Operator{softmax}, Impls: []string{"cuda"},
		Seed: 1, Options: op.Options{
			Device: "gpu",
			DTypes: []string{"fp32"}, Passes: []op.Pass{op.Forward}, Distributions: []string{"normal"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	chosen := s.Cover()
	if len(chosen) == 0 || slices.ContainsFunc(chosen,
		func(c Reached) bool {
			return c.Impl != "cuda/bad" || !slices.Equal(c.Kernels, []string{unprepared + "CRASH"})
		}) {
		t.Errorf("chosen: %+v", chosen)
	}
}
