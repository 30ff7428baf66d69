package results

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An endless statement inside a read transaction ends with the context of the caller.
func TestAContextStopsEveryQuestion(t *testing.T) {
	path := databaseFor(t, 3)
	s := openTest(t, path, Options{})
	records, _, err := s.List(ctx, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	id, key := records[0].ID, records[0].Case.Key()
	// run becomes a view that never ends
	for _, statement := range []string{
		"PRAGMA legacy_alter_table = on", "ALTER TABLE run RENAME TO recorded",
		"CREATE VIEW run AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) " +
			"SELECT r.* FROM c CROSS JOIN recorded r",
	} {
		if _, err := s.writer.Exec(statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for name, ask := range map[string]func(context.Context) error{
		"list":   func(c context.Context) error { _, _, err := s.List(c, Filter{}); return err },
		"latest": func(c context.Context) error { _, _, err := s.Latest(c, Filter{}); return err },
		"show":   func(c context.Context) error { _, err := s.Show(c, id); return err },
		"history": func(c context.Context) error {
			_, _, err := s.History(c, key, "cuda/warp", "", 9)
			return err
		},
		"sessions": func(c context.Context) error { _, err := s.Sessions(c, "", 9); return err },
		"progress": func(c context.Context) error { _, err := s.Progress(c, records[0].Session); return err },
		"visits":   func(c context.Context) error { _, err := s.Visits(c, Filter{}); return err },
	} {
		bounded, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		if err := ask(bounded); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, want the end of its time", name, err)
		}
		cancel()
	}
}

// A session whose process was killed is not running, even before that is recorded.
func TestAKilledSessionIsInterrupted(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	writer := openTest(t, path, Options{})
	x := start(t, writer, "all of it", plan(2)...)
	reader := openTest(t, path, Options{ReadOnly: true})
	said := func(s *Store) string {
		all, err := s.Sessions(ctx, "", -1)
		if err != nil {
			t.Fatal(err)
		}
		progress, err := s.Progress(ctx, x.ID())
		if err != nil {
			t.Fatal(err)
		}
		return all[0].State + " " + progress.State
	}
	for who, s := range map[string]*Store{"who runs it": writer, "who reads": reader} {
		if got := said(s); got != "running running" {
			t.Errorf("%s says %s", who, got)
		}
	}
	if err := writer.live.close(); err != nil { // as the kernel does when the process is killed
		t.Fatal(err)
	}
	if got := said(reader); got != "interrupted interrupted" {
		t.Errorf("after its process is gone: %s", got)
	}
	if err := os.Remove(path + livenessSuffix); err != nil {
		t.Fatal(err)
	}
	if got := said(reader); got != "interrupted interrupted" {
		t.Errorf("in a copy, beside which nobody is alive: %s", got)
	}
}

// A read-only store sees the file that replaced its own, and reports if it is gone.
func TestAReplacedFileIsReadAnew(t *testing.T) {
	path, other := databaseFor(t, 3), databaseFor(t, 5)
	s := openTest(t, path, Options{ReadOnly: true})
	seen := func() int {
		_, total, err := s.List(ctx, Filter{})
		if err != nil {
			t.Fatal(err)
		}
		return total
	}
	if n := seen(); n != 3 {
		t.Fatalf("%d results, want 3", n)
	}
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	if n := seen(); n != 5 {
		t.Errorf("%d results of the file that took its place, want 5", n)
	}
	if err := os.WriteFile(path+".new", []byte("This is no database."), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.List(ctx, Filter{}); !errors.Is(err, ErrForeign) {
		t.Errorf("a text in its place: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.List(ctx, Filter{}); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "put it back") {
		t.Errorf("nothing in its place: %v", err)
	}
}
