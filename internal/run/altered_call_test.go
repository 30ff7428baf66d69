package run

import (
	"context"
	"slices"
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

// TestAlteredCall: an implementation that recognises an input by its ends, its sum and its sizes repeats its
// last answer for another one.
func TestAlteredCall(t *testing.T) {
	planned := []work{someForward(t)}
	if err := markAltered(planned); err != nil || planned[0].altered != reversed {
		t.Fatalf("%v is marked: %v, %v", planned[0].Case, planned[0].altered, err)
	}
	for _, of := range []struct {
		kept         bool
		marked       *alteration
		before, want op.Status
		jobs         int
	}{
		{false, reversed, op.StatusPass, op.StatusPass, 1},
		{true, reversed, op.StatusPass, op.StatusFail, 1},
		{false, exchanged, op.StatusPass, op.StatusPass, 1},
		{true, exchanged, op.StatusPass, op.StatusFail, 1},
		{true, nil, op.StatusPass, op.StatusPass, 0},
		{true, reversed, op.StatusRace, op.StatusRace, 0},
	} {
		x := &execution{Runner: &Runner{}, request: Request{Seed: 1}, result: &Result{}}
		planned[0].altered = of.marked
		c, err := x.prepare(planned[0])
		if err != nil {
			t.Fatal(err)
		}
		b := &caches{t: t, c: c, kept: of.kept}
		r := record.Record{Status: of.before, Outputs: []record.Verdict{{Name: c.outputs[0].Name}}}
		var found []op.Finding
		if err := x.callAltered(t.Context(), c, c.row(b), &r, &found); err != nil {
			t.Fatal(err)
		}
		reported := of.marked != nil && strings.Contains(r.Message, "so it is where x "+of.marked.words) &&
			strings.Contains(r.Outputs[0].Pattern, of.marked.words)
		if r.Status != of.want || b.jobs != of.jobs || reported != (of.want == op.StatusFail) {
			t.Errorf("%v: %v %q after %d jobs", of, r.Status, r.Message, b.jobs)
		}
	}
}

// TestInnerReversed: the first and the last element stay where they are.
func TestInnerReversed(t *testing.T) {
	x := tensor.New("x", op.BF16, []int64{2, 3})
	copy(x.Data, "aAbBcCdDeEfF")
	if got := string(innerReversed(x, 1).Data); got != "aAeEdDcCbBfF" || string(x.Data) != "aAbBcCdDeEfF" {
		t.Errorf("%q of %q", got, x.Data)
	}
}

// TestNeighborsExchanged: two neighbors that differ change places, where the seed puts it, and the first and
// the last element stay.
func TestNeighborsExchanged(t *testing.T) {
	x := tensor.New("x", op.BF16, []int64{2, 3})
	copy(x.Data, "aAbBbBcCcCfF")
	for seed := range uint64(20) {
		if got := string(neighborsExchanged(x, seed).Data); got != "aAbBcCbBcCfF" {
			t.Errorf("seed %d: %q", seed, got)
		}
	}
	short := tensor.New("x", op.BF16, []int64{3})
	if got := neighborsExchanged(short, 1); string(got.Data) != string(short.Data) {
		t.Errorf("a short one: %q", got.Data)
	}
}

// TestTheLargestIsAltered: of several cases the smallest has its elements reversed, and the largest, if it is
// large enough, two exchanged.
func TestTheLargestIsAltered(t *testing.T) {
	small, large := someForward(t), someForward(t)
	for i := range large.Dims {
		large.Dims = slices.Clone(large.Dims)
		large.Dims[i].Value = 40
	}
	planned := []work{large, small}
	if err := markAltered(planned); err != nil || planned[0].altered != exchanged ||
		planned[1].altered != reversed {
		t.Errorf("%v: %v; %v: %v; %v", planned[0].Dims, planned[0].altered, planned[1].Dims,
			planned[1].altered, err)
	}
}
