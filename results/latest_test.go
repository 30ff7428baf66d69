package results

import (
	"context"
	"path/filepath"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/record"
)

// The view, the pages and the sides of a comparison agree on the latest runs: the newest run on each device,
// and one that reached no device until there is a newer one.
func TestLatestIsOneDefinition(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	ctx := context.Background()
	x, err := s.Start(ctx, record.Session{Request: "one"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Finish(ctx, true, 0); err != nil {
		t.Fatal(err)
	}
	of := map[string]string{} // the newest ID by device
	for _, c := range []struct {
		device string
		want   []string // devices
	}{
		{"", []string{""}},
		{"emulator", []string{"emulator"}},
		{"gpu", []string{"emulator", "gpu"}},
		{"", []string{"emulator", "gpu", ""}},
		{"interpreter", []string{"emulator", "gpu", "interpreter"}},
		{"emulator", []string{"gpu", "interpreter", "emulator"}},
	} {
		x, err := s.Start(ctx, record.Session{Request: c.device}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := passed(0, "mine/a.cu")
		r.Device = c.device
		if err := x.Record(ctx, r); err != nil {
			t.Fatal(err)
		}
		if err := x.Finish(ctx, true, 0); err != nil {
			t.Fatal(err)
		}
		of[c.device] = r.ID
		var want []string
		for _, device := range c.want {
			want = append(want, of[device])
		}
		slices.Sort(want)
		agreeOnLatest(t, s, want)
	}
}

// agreeOnLatest compares the results of all ways to ask for the newest runs.
func agreeOnLatest(t *testing.T, s *Store, want []string) {
	t.Helper()
	latest, _, err := s.Latest(ctx, Filter{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	same(t, latest, want)
	side, err := s.Side(ctx, "all", Selection{})
	if err != nil {
		t.Fatal(err)
	}
	var ofSide []string
	for _, e := range side.Entries {
		ofSide = append(ofSide, e.Run)
	}
	ofView, err := column[string](s.reader, "SELECT run_ulid FROM latest ORDER BY run_ulid")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(ofSide, want) || !slices.Equal(ofView, want) {
		t.Errorf("the side has %v, the view %v, want %v", ofSide, ofView, want)
	}
}

// Latest returns the newest run of each implementation on each case, in the order in which they ran; runs
// with a GPU and without one do not hide each other.
func TestLatestGivesTheNewestOfEach(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	ctx := context.Background()
	var want []string
	for i, device := range []string{"emulator", "gpu", "emulator"} {
		x, err := s.Start(ctx, record.Session{Request: device}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, impl := range []string{"cuda/a", "cuda/b"} {
			r := passed(0, impl)
			r.Device = device
			if err := x.Record(ctx, r); err != nil {
				t.Fatal(err)
			}
			if i > 0 {
				want = append(want, r.ID)
			}
		}
		if err := x.Finish(ctx, true, 0); err != nil {
			t.Fatal(err)
		}
	}
	got, total, err := s.Latest(ctx, Filter{Limit: -1})
	if err != nil || total != 4 {
		t.Fatalf("%d runs, %v; want 4", total, err)
	}
	same(t, got, want)
	got, total, err = s.Latest(ctx, Filter{Limit: 1})
	if err != nil || total != 4 {
		t.Fatalf("%d runs, %v; want 4", total, err)
	}
	same(t, got, want[3:])
	if got, _, err = s.Latest(ctx, Filter{Impl: []string{"cuda/b"}}); err != nil {
		t.Fatal(err)
	}
	same(t, got, []string{want[1], want[3]})
}

// With more runs than the limit the bad ones come first: a page of only the newest would show nothing wrong.
func TestLatestLeavesNoBadRunOut(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	ctx := context.Background()
	x, err := s.Start(ctx, record.Session{Request: "one"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	bad := passed(0, "cuda/bad")
	bad.Status = op.StatusFail
	for _, r := range []*record.Record{bad, passed(0, "cuda/a"), passed(0, "cuda/b")} {
		if err := x.Record(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Finish(ctx, true, 1); err != nil {
		t.Fatal(err)
	}
	got, total, err := s.Latest(ctx, Filter{Limit: 1})
	if err != nil || total != 3 {
		t.Fatalf("%d runs, %v; want 3", total, err)
	}
	same(t, got, []string{bad.ID})
}

func same(t *testing.T, got []record.Record, want []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d runs, want %v", len(got), want)
	}
	for i, r := range got {
		if r.ID != want[i] {
			t.Errorf("run %d is %s, want %s", i, r.ID, want[i])
		}
	}
}
