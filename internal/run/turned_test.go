package run

import (
	"context"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// caches is a backend that gives relu of the inputs of its job, or of those it was first asked for.
type caches struct {
	backend.Backend
	c    *prepared
	e    entry
	kept bool
	jobs int
}

func (b *caches) Run(_ context.Context, job backend.Job) (backend.Outcome, error) {
	b.jobs++
	of := b.c.given[0]
	if !b.kept {
		of = job.Inputs[0]
	}
	return rightAnswer(of, job.Launches), nil
}

// What recognises an input by its ends, its sum and its sizes gives its last answer for another one.
func TestAfterTurning(t *testing.T) {
	o, err := truth.Get("relu")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Spec.Expand(op.Options{
		Level: op.LevelQuick, Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
		Dims: map[string]int64{"n": 21},
	})
	if err != nil {
		t.Fatal(err)
	}
	planned := []work{{operator: o, Case: plan.Cases[0]}}
	if err := markTurned(planned); err != nil || !planned[0].turned {
		t.Fatalf("%v is marked: %v, %v", planned[0].Case, planned[0].turned, err)
	}
	for _, of := range []struct {
		kept, marked bool
		before, want op.Status
		jobs         int
	}{
		{false, true, op.StatusPass, op.StatusPass, 1},
		{true, true, op.StatusPass, op.StatusFail, 1},
		{true, false, op.StatusPass, op.StatusPass, 0},
		{true, true, op.StatusRace, op.StatusRace, 0},
	} {
		x := &execution{Runner: &Runner{}, request: Request{Seed: 1}, result: &Result{}}
		planned[0].turned = of.marked
		c, err := x.prepare(planned[0])
		if err != nil {
			t.Fatal(err)
		}
		b := &caches{c: c, kept: of.kept}
		b.e = entry{backend: b, implementation: backend.Implementation{
			Name: "fake/row", Op: "relu", Contract: "fp32", Device: "cpu", Outputs: []string{"y"},
		}}
		r := record.Record{Status: of.before, Outputs: []record.Verdict{{Name: "y"}}}
		var found []op.Finding
		if err := x.afterTurning(t.Context(), c, b.e, &r, &found); err != nil {
			t.Fatal(err)
		}
		told := strings.Contains(r.Message, "so it is where x has its inner elements in reverse") &&
			strings.Contains(r.Outputs[0].Pattern, "in reverse")
		if r.Status != of.want || b.jobs != of.jobs || told != (of.want == op.StatusFail) {
			t.Errorf("%v: %v %q after %d jobs", of, r.Status, r.Message, b.jobs)
		}
	}
}

// The ends stay where they are.
func TestTurnedInside(t *testing.T) {
	x := tensor.New("x", op.BF16, []int64{2, 3})
	copy(x.Data, "aAbBcCdDeEfF")
	if got := string(turnedInside(x).Data); got != "aAeEdDcCbBfF" || string(x.Data) != "aAbBcCdDeEfF" {
		t.Errorf("%q of %q", got, x.Data)
	}
}
