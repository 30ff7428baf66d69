package results

import (
	"path/filepath"
	"testing"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// A tally counts the runs of one pass in one session, and shows the first run of the worst kind.
func TestTallies(t *testing.T) {
	store, err := Open(ctx, filepath.Join(t.TempDir(), "results.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	session, err := store.Start(ctx, record.Session{
		Request: "r", Command: []string{"compare", "--dims", "n=1"}, Added: []string{"/a/one.cu"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	started := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC)
	for i, status := range []op.Status{
		op.StatusPass, op.StatusNotUnderstood, op.StatusFail, op.StatusRace, op.StatusUnsupported,
	} {
		r := failed(i)
		r.Impl, r.Status, r.Message, r.Timings = "mine/one.cu", status, status.String(), nil
		r.Started = started.Add(time.Duration(i) * time.Second)
		if err := session.Record(ctx, &r); err != nil {
			t.Fatal(err)
		}
	}
	tallies := func() []record.Tally {
		all, err := store.Tallies(ctx, Filter{Impl: []string{"mine/"}})
		if err != nil || len(all) != 1 {
			t.Fatalf("%d tallies, %v", len(all), err)
		}
		return all
	}
	if got := tallies()[0]; got.Complete || !got.Narrowed() {
		t.Errorf("while the session runs: %+v", got)
	}
	if err := session.Finish(ctx, true, 1); err != nil {
		t.Fatal(err)
	}
	got := tallies()[0]
	if !got.Complete || got.Good != 1 || got.Neutral != 2 || got.Bad != 2 || got.NotUnderstood != 1 ||
		got.Status != op.StatusFail || got.Message != "FAIL" || !got.Started.Equal(started) ||
		got.Added[0] != "/a/one.cu" || got.Source != "abc123" || got.Timed != nil {
		t.Errorf("%+v", got)
	}
	if none, err := store.Tallies(ctx, Filter{Impl: []string{"cuda/"}}); err != nil || len(none) > 0 {
		t.Errorf("of another family: %d, %v", len(none), err)
	}
}
