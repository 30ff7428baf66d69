package run

import (
	"context"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
)

// caches is a backend that gives what is right for the inputs of its job, or for those of its case.
type caches struct {
	backend.Backend
	t    *testing.T
	c    *prepared
	kept bool
	jobs int
}

func (b *caches) Run(_ context.Context, job backend.Job) (backend.Outcome, error) {
	b.jobs++
	inputs := job.Inputs
	if b.kept {
		inputs = b.c.given
	}
	return b.c.rightAnswer(b.t, inputs, job.Launches), nil
}

// TestAfterTurning: an implementation that recognises an input by its ends, its sum and its sizes repeats its
// last answer for another one.
func TestAfterTurning(t *testing.T) {
	planned := []work{someForward(t)}
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
		b := &caches{t: t, c: c, kept: of.kept}
		r := record.Record{Status: of.before, Outputs: []record.Verdict{{Name: c.outputs[0].Name}}}
		var found []op.Finding
		if err := x.afterTurning(t.Context(), c, c.row(b), &r, &found); err != nil {
			t.Fatal(err)
		}
		told := strings.Contains(r.Message, "so it is where x has its inner elements in reverse") &&
			strings.Contains(r.Outputs[0].Pattern, "in reverse")
		if r.Status != of.want || b.jobs != of.jobs || told != (of.want == op.StatusFail) {
			t.Errorf("%v: %v %q after %d jobs", of, r.Status, r.Message, b.jobs)
		}
	}
}

// TestTurnedInside: the first and the last element stay where they are.
func TestTurnedInside(t *testing.T) {
	x := tensor.New("x", op.BF16, []int64{2, 3})
	copy(x.Data, "aAbBcCdDeEfF")
	if got := string(turnedInside(x).Data); got != "aAeEdDcCbBfF" || string(x.Data) != "aAbBcCdDeEfF" {
		t.Errorf("%q of %q", got, x.Data)
	}
}
