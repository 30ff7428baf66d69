package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/timing"
	"triad/internal/truth"
)

func casesOf(t *testing.T, p *Plan) []PlannedCase {
	t.Helper()
	cases, err := p.Cases()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// planned returns the runs of a plan, one a line, as a run of the same request records them.
func planned(t *testing.T, cases []PlannedCase) (lines []string) {
	t.Helper()
	for _, c := range cases {
		for _, r := range c.Runs {
			lines = append(lines, fmt.Sprint(c.Key(), " ", r.Impl, " ", r.Source, " ", r.Status))
		}
	}
	return lines
}

func recorded(records []record.Record, known func(record.Record) bool) (lines []string) {
	for _, r := range records {
		status := op.StatusUnknown
		if known(r) {
			status = r.Status
		}
		lines = append(lines, fmt.Sprint(r.Case.Key(), " ", r.Impl, " ", r.Source, " ", status))
	}
	slices.Sort(lines)
	return lines
}

// TestPlanIsWhatIsRun: a plan describes the run of the same request, case by case, and runs nothing itself.
func TestPlanIsWhatIsRun(t *testing.T) {
	o := faked(t)
	f := fakes(map[string]way{"fake/right": right, "fake/zeros": zeros})
	absent := &fake{family: "absent", load: &backend.Unavailable{Sentence: "absent is not here"}}
	kept := &memory{}
	r := &Runner{Backends: []backend.Backend{f, absent}, Recorder: kept, Stop: context.Background()}
	request := Request{
		Operators: []*truth.Operator{o}, Seed: 1,
		Options: op.Options{Level: op.LevelQuick, DTypes: []string{"fp32", "bf16"}},
		Impls:   []string{"fake", "absent"},
	}
	p, err := r.PlanCompare(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	cases := casesOf(t, p)
	if len(f.runs) > 0 || kept.plan != nil || len(kept.records) > 0 {
		t.Errorf("the plan ran %v and recorded %d items", f.runs, len(kept.plan))
	}
	result, err := r.Compare(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	said := planned(t, cases)
	did := recorded(result.Records, func(r record.Record) bool {
		return r.Status == op.StatusMissing || r.Status == op.StatusUnavailable
	})
	slices.Sort(said)
	if !slices.Equal(said, did) || len(did) < 20 {
		t.Errorf("planned %d:\n%v\ndone %d:\n%v", len(said), said, len(did), did)
	}
	if !slices.Equal(p.Unavailable, []string{"absent is not here"}) ||
		!slices.Equal(result.Unavailable, p.Unavailable) {
		t.Errorf("not here: %q, then %q", p.Unavailable, result.Unavailable)
	}
	for i, item := range kept.plan {
		if !slices.ContainsFunc(cases, func(c PlannedCase) bool { return c.Key() == item.Case.Key() }) {
			t.Errorf("item %d of the recorded plan is not in the plan", i)
		}
	}
	describesRuns(t, cases)
}

// describesRuns checks the fields of a plan that times nothing.
func describesRuns(t *testing.T, cases []PlannedCase) {
	t.Helper()
	relations := 0
	for _, c := range cases {
		relations += len(c.Relations)
		if !c.Judged || c.Timed || c.Moderate || c.Pass == op.Forward && c.Elements > 0 && !(c.Work() > 0) {
			t.Errorf("%+v", c)
		}
		for _, r := range c.Runs {
			if (r.Launches > 0) == (r.Status != op.StatusUnknown) {
				t.Errorf("%s: %d launches of what is %v", r.Impl, r.Launches, r.Status)
			}
		}
	}
	if relations == 0 {
		t.Error("no relation is planned")
	}
}

// TestPlanOfWhatIsTimed: the plan of a bench has its points, that of a comparison on a GPU the timed cases.
func TestPlanOfWhatIsTimed(t *testing.T) {
	o := faked(t)
	f := fakes(map[string]way{"fake/right": right})
	r := &Runner{Backends: []backend.Backend{f}, Stop: context.Background()}
	request := Request{
		Operators: []*truth.Operator{o}, Seed: 1, Timing: &timing.Plan{},
		Options: op.Options{
			Level: op.LevelQuick, DTypes: []string{"fp32"}, Passes: []op.Pass{op.Forward},
		},
	}
	count := func(plan func(context.Context, Request) (*Plan, error)) (judged, timed int) {
		p, err := plan(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		cases := casesOf(t, p)
		for _, c := range cases {
			if c.Judged {
				judged++
			}
			if c.Timed {
				timed++
			}
		}
		return judged, timed
	}
	if judged, timed := count(r.PlanCompare); judged < 10 || timed != 1 {
		t.Errorf("a comparison judges %d and times %d", judged, timed)
	}
	if judged, timed := count(r.PlanBench); judged != 1 || timed != 1 {
		t.Errorf("a bench judges %d and times %d", judged, timed)
	}
	for _, c := range []struct {
		file     string
		plan     func(*Runner, context.Context, Request) (*Plan, error)
		bySample bool
	}{
		{"fake/right", (*Runner).PlanBench, true},
		{"mine/right", (*Runner).PlanBench, false},
		{"mine/right", (*Runner).PlanCompare, true}, // it is judged whole before that
	} {
		family, _, _ := strings.Cut(c.file, "/")
		f := &fake{family: family, ways: map[string]way{c.file: right}, runs: map[string]int{}}
		r := &Runner{Backends: []backend.Backend{f}, Stop: context.Background()}
		p, err := c.plan(r, t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		timed := p.judged[0]
		if len(p.timed) > 0 {
			timed = p.timed[0].work
		}
		if timed.bySample != c.bySample {
			t.Errorf("%s: judged by sample where it is timed: %v, want %v", c.file, timed.bySample,
				c.bySample)
		}
	}
}

// TestPlanOfAGradcheck: a gradcheck's plan marks the case that is launched more often.
func TestPlanOfAGradcheck(t *testing.T) {
	o := faked(t)
	g := &gradients{rows: []backend.Implementation{
		{
			Name: "fake/right", Op: o.Spec.Name, Pass: op.Forward, DTypes: []string{"fp32"}, Contract: "fp32",
			Outputs: []string{"y"}, Device: "cpu",
		},
		{
			Name: "fake/right", Op: o.Spec.Name, Pass: op.Backward, DTypes: []string{"fp32"},
			Contract: "fp32", Outputs: []string{"grad_x"}, Device: "cpu",
		},
	}}
	r := &Runner{Backends: []backend.Backend{g}, Stop: context.Background()}
	p, err := r.PlanCompare(t.Context(), Request{
		Operators: []*truth.Operator{o}, Seed: 1, Gradients: true,
		Options: op.Options{
			Level: op.LevelQuick, DTypes: []string{"fp32"}, Passes: []op.Pass{op.Backward},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	cases := casesOf(t, p)
	moderate, ordinary := 0, 0
	for _, c := range cases {
		want := 2
		if c.Moderate {
			moderate++
			want = gradientLaunches
		}
		if len(c.Runs) != 1 {
			t.Fatalf("moderate %t: %+v, want one run", c.Moderate, c.Runs)
		}
		if c.Runs[0].Launches == want+1 { // into ordinary numbers
			ordinary++
		} else if c.Runs[0].Launches != want {
			t.Errorf("moderate %t: %+v, want %d launches, or one more", c.Moderate, c.Runs, want)
		}
	}
	if moderate != 1 || ordinary != 1 {
		t.Errorf("%d cases are launched more often, %d into ordinary numbers: want one of each", moderate,
			ordinary)
	}
}

// TestQuickCasesOfWhatCompiles: an implementation that compiles for each case gets as many quick cases of
// each pass as its limit says, and none on which every answer passes.
func TestQuickCasesOfWhatCompiles(t *testing.T) {
	request := Request{Options: op.Options{Level: op.LevelQuick}}
	fewer := 0
	for _, o := range truth.All() {
		plan, err := o.Spec.Expand(request.Options)
		if err != nil {
			t.Fatal(err)
		}
		dtype := o.Spec.DTypes[0]
		telling := 0
		for _, c := range plan.Cases {
			if c.Pass == op.Forward && c.DType == dtype && o.Spec.Trivial(c) == "" {
				telling++
			}
		}
		for limit, most := range map[string]int{"quick1": 1, "quick2": 2} {
			all := []loaded{{
				backend: fakes(map[string]way{"fake/right": right}),
				implementations: []backend.Implementation{{
					Name: "fake/right", Op: o.Spec.Name, Pass: op.Forward, DTypes: []string{dtype},
					Limit: limit, Contract: o.Spec.DefaultContract(dtype),
				}},
			}}
			got := 0
			for _, w := range assign(o, plan, all, request) {
				for _, e := range w.entries {
					if w.Pass != op.Forward || w.DType != dtype || e.verdict != nil {
						continue
					}
					got++
					if why := o.Spec.Trivial(w.Case); why != "" {
						t.Errorf("%s with the limit %s: %v is trivial: %s", o.Spec.Name, limit, w.Key(), why)
					}
				}
			}
			if got != min(most, telling) {
				t.Errorf("%s with the limit %s: %d of %d cases", o.Spec.Name, limit, got, telling)
			}
			if telling > most {
				fewer++
			}
		}
	}
	if fewer == 0 {
		t.Error("no operator has more cases than the limits")
	}
}
