package session

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/run"
	"triad/results"
)

// TestResumedSessionKeepsItsVerdict: what was wrong before an interruption counts when the session is
// resumed, and a stopped run never ends good.
func TestResumedSessionKeepsItsVerdict(t *testing.T) {
	ctx := context.Background()
	store, err := results.Open(ctx, filepath.Join(t.TempDir(), "r.db"), results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	item := func(rows int64) record.Item {
		c := op.Case{
			Op: "softmax", Pass: op.Forward, DType: "fp32", Dims: op.Dims{{Name: "rows", Value: rows}},
			Layout: "contiguous", Distribution: "normal",
		}
		return record.Item{Case: c, Impl: "fake/wrong", Seed: 1, Source: "aa"}
	}
	session, err := store.Start(ctx, record.Session{Request: "the request", Seed: 1},
		[]record.Item{item(1), item(2), item(3)})
	if err != nil {
		t.Fatal(err)
	}
	for i, status := range []op.Status{op.StatusFail, op.StatusPass} {
		r := record.Record{
			Case: item(int64(i + 1)).Case, Seed: 1, Impl: "fake/wrong", Status: status,
			Source: "aa",
		}
		if err := session.Record(ctx, &r); err != nil {
			t.Fatal(err)
		}
	}
	if err := session.Finish(ctx, false, int(ExitBad)); err != nil {
		t.Fatal(err)
	}
	kept := &recorder{ctx: ctx, store: store, resume: true, info: record.Session{Request: "the request"}}
	if err := kept.takeOver(); err != nil {
		t.Fatal(err)
	}
	if len(kept.before) != 2 || kept.before[0].Status != op.StatusFail || kept.Done(item(3)) ||
		!kept.Done(item(1)) {
		t.Errorf("before: %d records, the third done: %v", len(kept.before), kept.Done(item(3)))
	}
	edited := item(3)
	edited.Source = "bb"
	for _, c := range []struct {
		plan []record.Item
		want string
	}{
		{[]record.Item{item(1), item(2), item(3)}, ""},
		{
			[]record.Item{item(1), edited},
			"the sources or flags of softmax fake/wrong changed since the interrupted run (aa then, bb now)",
		},
		{[]record.Item{item(1), item(4)}, "fake/wrong of softmax was not in the plan of the interrupted run"},
	} {
		err := kept.Plan(c.plan, nil)
		if u := (*op.UsageError)(nil); c.want == "" && err != nil || c.want != "" &&
			(!errors.As(err, &u) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("a resumed plan of %d items: %v, want %q", len(c.plan), err, c.want)
		}
	}
	verdictCountsWhatWasKept(t, kept.before)
}

// verdictCountsWhatWasKept checks that a resumed session is wrong if an earlier record is.
func verdictCountsWhatWasKept(t *testing.T, before []record.Record) {
	t.Helper()
	rest := record.Record{Status: op.StatusPass}
	for _, c := range []struct {
		result run.Result
		want   ExitCode
	}{
		{run.Result{Records: append(before, rest)}, ExitBad},
		{run.Result{Records: []record.Record{rest}}, ExitGood},
		{run.Result{Records: []record.Record{rest}, Interrupted: true}, ExitNothing},
		{run.Result{Records: before, Interrupted: true}, ExitBad},
	} {
		if got := verdictOf(c.result); got != c.want {
			t.Errorf("exit %d, want %d: %d records, interrupted %v", got, c.want, len(c.result.Records),
				c.result.Interrupted)
		}
	}
}
