package run

import (
	"context"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/truth"
)

// endsWith is a backend that ends every job with one outcome or error.
type endsWith struct {
	backend.Backend
	outcome backend.Outcome
	err     error
}

func (e endsWith) Run(context.Context, backend.Job) (backend.Outcome, error) { return e.outcome, e.err }

// oneByOneCase returns a moderate case of a backward with three gradients.
func oneByOneCase(t *testing.T) (*execution, *prepared) {
	t.Helper()
	o, err := truth.Get("layernorm")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Spec.Expand(op.Options{
		Level: op.LevelQuick, Passes: []op.Pass{op.Backward},
		DTypes: []string{"fp32"}, Dims: map[string]int64{"rows": 5, "cols": 33},
		Distributions: []string{"normal"}, Saved: []string{"own"},
	})
	if err != nil || len(plan.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(plan.Cases), err)
	}
	x := &execution{Runner: &Runner{}, request: Request{Seed: 1}, result: &Result{}}
	c, err := x.prepare(work{operator: o, Case: plan.Cases[0], moderate: true})
	if err != nil {
		t.Fatal(err)
	}
	return x, c
}

// oneByOneEntry returns a row that goes through autograd.
func oneByOneEntry(b backend.Backend) entry {
	return entry{backend: b, implementation: backend.Implementation{
		Name: "fake/row", Op: "layernorm",
		Pass: op.Backward, Recomputes: true, Contract: "fp32", Device: "cpu",
		Outputs: []string{"grad_x", "grad_weight", "grad_bias"},
	}}
}

// TestOneByOneThatDoesNotRunIsNoPass: a row has not passed if its gradients could not be computed one by one,
// for whatever reason.
func TestOneByOneThatDoesNotRunIsNoPass(t *testing.T) {
	x, c := oneByOneCase(t)
	for _, of := range []struct {
		how  endsWith
		want op.Status
	}{
		{endsWith{err: &backend.Unavailable{Sentence: "the GPU is gone"}}, op.StatusUnavailable},
		{endsWith{outcome: backend.Outcome{Status: op.StatusSkipped, Sentence: "no room"}}, op.StatusSkipped},
		{endsWith{outcome: backend.Outcome{Status: op.StatusUnsupported, Sentence: "not so"}}, op.StatusFail},
		{endsWith{outcome: backend.Outcome{Status: op.StatusCrash, Sentence: "exited 7"}}, op.StatusCrash},
	} {
		e := oneByOneEntry(of.how)
		passed := []record.Verdict{{Name: "grad_x", Status: op.StatusPass}}
		r := record.Record{Status: op.StatusPass, Outputs: passed}
		var found []op.Finding
		if err := x.oneByOne(t.Context(), c, e, &r, &found); err != nil {
			t.Fatal(err)
		}
		const begins = "where each input alone requires its gradient: "
		if r.Status != of.want || len(r.Outputs) > 0 || !strings.HasPrefix(r.Message, begins) {
			t.Errorf("%v: %v %q with %d outputs", of.want, r.Status, r.Message, len(r.Outputs))
		}
	}
}

// TestOneByOneLeavesWhatWasDeclined: a call that the row declined is not repeated: declining it twice is no
// change of mind.
func TestOneByOneLeavesWhatWasDeclined(t *testing.T) {
	x, c := oneByOneCase(t)
	declines := endsWith{outcome: backend.Outcome{Status: op.StatusUnsupported, Sentence: "not in fp32"}}
	r := record.Record{Status: op.StatusUnsupported, Message: "not in fp32"}
	var found []op.Finding
	if err := x.oneByOne(t.Context(), c, oneByOneEntry(declines), &r, &found); err != nil {
		t.Fatal(err)
	}
	if r.Status != op.StatusUnsupported || r.Message != "not in fp32" {
		t.Errorf("%v %q, want UNSUPPORTED as before", r.Status, r.Message)
	}
}
