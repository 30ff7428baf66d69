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
	"triad/internal/tensor"
	"triad/internal/truth"
)

// configured is a backend that ends its jobs with the outcome of the configuration that they ask for.
type configured struct {
	backend.Backend
	asked []string
	ends  map[string]backend.Outcome
}

func (b *configured) Run(_ context.Context, job backend.Job) (backend.Outcome, error) {
	for _, l := range job.Launches {
		b.asked = append(b.asked, l.Order+" "+l.Poison)
	}
	return b.ends[job.Launches[0].Order], nil
}

// TestEachConfiguration: each configuration but the first is launched like the case; the first wrong one ends
// the record, and is named.
func TestEachConfiguration(t *testing.T) {
	planned := []work{someForward(t)}
	if err := markConfigured(planned); err != nil {
		t.Fatal(err)
	}
	if !planned[0].configured {
		t.Error("the only case of its dtype is not marked")
	}
	names := []string{"BLOCK=64", "BLOCK=32", "BLOCK=16"}
	for _, of := range []struct {
		marked bool
		names  []string
		want   string
		asked  int
	}{
		{true, names, "CRASH exited 7; so it is where autotune takes its configuration 3 of 3, BLOCK=16", 4},
		{true, names[:1], "PASS ", 0},
		{true, nil, "PASS ", 0},
		{false, names, "PASS ", 0},
	} {
		x := &execution{Runner: &Runner{}, request: Request{Seed: 1}, result: &Result{}}
		planned[0].configured = of.marked
		c, err := x.prepare(planned[0])
		if err != nil {
			t.Fatal(err)
		}
		b := &configured{ends: map[string]backend.Outcome{
			"configuration 1": {}, "configuration 2": {Status: op.StatusCrash, Sentence: "exited 7"},
		}}
		e := c.row(b)
		b.ends["configuration 1"] = c.rightAnswer(t, c.given, c.launches(e.implementation.Device, c.level))
		r := record.Record{Status: op.StatusPass, Outputs: []record.Verdict{{Name: c.outputs[0].Name}}}
		var found []op.Finding
		outcome := backend.Outcome{Configurations: of.names}
		if err := x.eachConfiguration(t.Context(), c, e, outcome, &r, &found); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Status, " ", r.Message); got != of.want || len(b.asked) != of.asked {
			t.Errorf("%q after %q, want %q after %d launches", got, b.asked, of.want, of.asked)
		}
	}
}

// TestWrongWhileTuned: an answer that is right when it is repeated was wrong because of what autotune left
// behind in the first call.
func TestWrongWhileTuned(t *testing.T) {
	const says = "name those that it adds to in reset_to_zero"
	for _, of := range []struct {
		right bool // again
		names []string
		told  bool
	}{
		{true, []string{"BLOCK=64", "BLOCK=32"}, true},
		{false, []string{"BLOCK=64", "BLOCK=32"}, false},
		{true, nil, false},
	} {
		x := &execution{Runner: &Runner{}, request: Request{Seed: 1}, result: &Result{}}
		c, err := x.prepare(someForward(t))
		if err != nil {
			t.Fatal(err)
		}
		b := &configured{ends: map[string]backend.Outcome{}}
		e := c.row(b)
		outcome := c.rightAnswer(t, c.given, c.launches(e.implementation.Device, c.level))
		outcome.Configurations = of.names
		r := record.Record{Status: op.StatusFail, Outputs: []record.Verdict{{Status: op.StatusFail}}}
		if b.ends["configuration 0"] = outcome; !of.right {
			b.ends["configuration 0"] = backend.Outcome{Status: op.StatusCrash}
		}
		var found []op.Finding
		if err := x.eachConfiguration(t.Context(), c, e, outcome, &r, &found); err != nil {
			t.Fatal(err)
		}
		if r.Status != op.StatusFail || strings.Contains(r.Message, says) != of.told ||
			strings.Contains(r.Outputs[0].Pattern, says) != of.told {
			t.Errorf("%v: %v %q", of, r.Status, r.Message)
		}
	}
}

// someForward returns a small case of ordinary data, for tests of what follows a judged call.
func someForward(t *testing.T) work {
	t.Helper()
	o := judgedOperator(t)
	plan, err := o.Spec.Expand(op.Options{
		Level: op.LevelQuick, Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
		Distributions: []string{"normal"}, Layouts: []string{"contiguous"},
	})
	if err != nil {
		t.Fatal(err)
	}
	at := slices.IndexFunc(plan.Cases, func(c op.Case) bool { return c.Dims[0].Value > 1 })
	return work{operator: o, Case: plan.Cases[at]}
}

// row returns an implementation of the case's operator that gives its first output.
func (c *prepared) row(b backend.Backend) entry {
	return entry{backend: b, implementation: backend.Implementation{
		Name: "fake/row", Op: c.Op, Contract: c.operator.Spec.DefaultContract(c.DType), Device: "cpu",
		Outputs: []string{c.outputs[0].Name},
	}}
}

// rightAnswer returns an outcome whose launches give the rounded truth of these inputs as the first output.
func (c *prepared) rightAnswer(t *testing.T, inputs []tensor.Tensor, launches []backend.LaunchPlan,
) backend.Outcome {
	t.Helper()
	all, err := c.operator.TruthOf(c.Case, c.operator.Spec.DefaultContract(c.DType), inputs, nil)
	if err != nil {
		t.Fatal(err)
	}
	declared, target := c.outputs[0], all.Outputs[0]
	rounded := make([]float64, len(target.R))
	for i, r := range target.R {
		rounded[i] = tensor.Round(target.DType, r, target.Saturate)
	}
	y := tensor.New(declared.Name, declared.DType, declared.Shape)
	y.Data = tensor.Encode(declared.DType, rounded)
	var outcome backend.Outcome
	for _, plan := range launches {
		given := backend.OutputRef{
			Name: y.Name, Present: true, DType: y.DType.String(), Shape: y.Shape, Stride: y.Stride,
		}
		var outputs []backend.Output
		for i, o := range c.outputs {
			if i == 0 {
				outputs = append(outputs, backend.Output{OutputRef: given, Tensor: y})
			} else {
				outputs = append(outputs, backend.Output{OutputRef: backend.OutputRef{Name: o.Name}})
			}
		}
		outcome.Launches = append(outcome.Launches, backend.LaunchOutcome{Plan: plan, Outputs: outputs})
	}
	return outcome
}

// TestMarkConfigured: the cases on which configurations are judged are ordinary, few, and of moderate size if
// there are such.
func TestMarkConfigured(t *testing.T) {
	for _, o := range truth.All() {
		planned := plannedOf(t, o, op.Options{Level: op.LevelQuick})
		if err := markConfigured(planned); err != nil {
			t.Fatal(err)
		}
		marked := map[string]int{}
		for _, w := range planned {
			key := fmt.Sprint(w.Pass, " ", w.DType)
			marked[key] += 0
			if !w.configured {
				continue
			}
			marked[key]++
			if w.Layout != "contiguous" || !strings.Contains(" normal", " "+w.Upstream) {
				t.Errorf("%s: %v is marked", o.Spec.Name, w.Case)
			}
		}
		for key, n := range marked {
			if n == 0 || n > configuredCases {
				t.Errorf("%s %s: %d cases are marked", o.Spec.Name, key, n)
			}
		}
	}
}

// plannedOf returns the cases of an operator that some options select.
func plannedOf(t *testing.T, o *truth.Operator, options op.Options) (planned []work) {
	t.Helper()
	plan, err := o.Spec.Expand(options)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range plan.Cases {
		planned = append(planned, work{operator: o, Case: c})
	}
	return planned
}
