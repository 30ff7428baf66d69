package session

import (
	"context"
	"path/filepath"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
	"triad/results"
)

// TestResumedRunKnowsWhatWasNotLoaded: a family that this machine kept from loading stands in the plan for
// its implementations. A resumed run that knows them replaces it by them, and runs them; a session that lacks
// nothing has no stand-in left.
func TestResumedRunKnowsWhatWasNotLoaded(t *testing.T) {
	ctx := context.Background()
	store, err := results.Open(ctx, filepath.Join(t.TempDir(), "r.db"), results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	item := func(impl string, rows int64) record.Item {
		return record.Item{Impl: impl, Seed: 1, Source: "aa", Case: op.Case{
			Op: "an operator", Pass: op.Forward, DType: "fp32", Dims: op.Dims{{Name: "rows", Value: rows}},
			Layout: "contiguous", Distribution: "normal",
		}}
	}
	session, err := store.Start(ctx, record.Session{Request: "the request", Seed: 1},
		[]record.Item{item("cuda", 1), item("torch/eager", 1), item("torch/eager", 2)})
	if err != nil {
		t.Fatal(err)
	}
	record1 := func(s *results.Session, i record.Item) {
		t.Helper()
		r := record.Record{Case: i.Case, Seed: 1, Impl: i.Impl, Status: op.StatusPass, Source: "aa"}
		if err := s.Record(ctx, &r); err != nil {
			t.Fatal(err)
		}
	}
	record1(session, item("torch/eager", 1))
	if err := session.Finish(ctx, false, int(ExitNothing)); err != nil {
		t.Fatal(err)
	}
	kept := &recorder{ctx: ctx, store: store, resume: true, info: record.Session{Request: "the request"}}
	if err := kept.takeOver(); err != nil {
		t.Fatal(err)
	}
	plan := []record.Item{
		item("cuda/warp", 1), item("cuda/warp", 2), item("torch/eager", 1), item("torch/eager", 2),
	}
	if err := kept.Plan(append(plan, item("triton/one", 1)), nil); err == nil {
		t.Error("a family that nothing stood for was taken")
	}
	if err := kept.Plan(plan, nil); err != nil {
		t.Fatal(err)
	}
	for i, done := range []bool{false, false, true, false} {
		if kept.Done(plan[i]) != done {
			t.Errorf("%s of %v: done is %v", plan[i].Impl, plan[i].Case.Dims, !done)
		}
		if !done && i != 1 {
			record1(kept.session, plan[i])
		}
	}
	if err := kept.session.Finish(ctx, false, int(ExitNothing)); err != nil {
		t.Fatal(err)
	}
	_, missing, err := store.Resume(ctx, "the request")
	if err != nil || len(missing) != 1 || missing[0].Impl != "cuda/warp" {
		t.Errorf("missing: %+v, %v, want cuda/warp on two rows", missing, err)
	}
}
