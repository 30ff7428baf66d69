package results

import (
	"errors"
	"path/filepath"
	"testing"
	"time"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/resultdiff"
)

// recordSession records runs in a session of its own and returns its ID.
func recordSession(t *testing.T, s *Store, commit, gpu string, all ...*record.Record) string {
	t.Helper()
	x, err := s.Start(ctx, record.Session{
		Request: commit + gpu, Version: "1", Commit: commit, Level: "quick",
		Machine: record.Machine{
			OS:  "linux",
			CPU: "a CPU",
			GPU: gpu,
		}, Toolchain: record.Toolchain{"torch": commit},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range all {
		if err := x.Record(ctx, r); err != nil {
			t.Fatal(err)
		}
		for _, timing := range r.Timings {
			if err := x.AddTiming(ctx, r.ID, timing); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(all) > 0 {
		copies := record.Ceiling{Name: "copy", BytesPerSecond: new(record.Float(4e12))}
		if err := x.AddCeilings(ctx, []record.Ceiling{copies}); err != nil {
			t.Fatal(err)
		}
		twin := record.Comparison{
			RunA:         all[0].ID,
			RunB:         all[0].ID,
			Regime:       "cold",
			Ratio:        1,
			Low:          0.97,
			High:         1.02,
			SpeedVerdict: "SAME",
		}
		if err := x.AddComparisons(ctx, []record.Comparison{twin}); err != nil {
			t.Fatal(err)
		}
	}
	return x.ID()
}

// passed returns a run that passed and was timed in two rounds of two samples.
func passed(i int, impl string) *record.Record {
	r := failed(i)
	r.Impl, r.Status = impl, op.StatusPass
	r.Timings = []record.Timing{{
		Regime: "cold", Status: op.StatusPass, N: 4, MedianNS: 105, SamplesNS: []float64{100, 102, 108, 110},
		Rounds: []int{0, 0, 1, 1}, Mode: "graph", ClockMHz: new(record.Float(1980)), Sets: 1, Calls: 1,
	}}
	return &r
}

func TestSides(t *testing.T) {
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	s := openTest(
		t,
		filepath.Join(t.TempDir(), "r.db"),
		Options{Now: func() time.Time { now = now.Add(time.Hour); return now }},
	)
	older := passed(1, "cuda/warp")
	older.Started = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	first := recordSession(t, s, "aaaaaaa1", "NVIDIA H100", older)
	wrong := failed(1)
	wrong.Started = time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC)
	one, two := passed(1, "cuda/naive"), passed(2, "cuda/naive")
	one.Started, two.Started = wrong.Started, wrong.Started
	second := recordSession(t, s, "bbbbbbb2", "NVIDIA H200", &wrong, one, two)

	for _, c := range []struct {
		name string
		sel  Selection
		want int // entries
		of   op.Status
	}{
		{"all", Selection{}, 3, op.StatusFail},
		{"a session", Selection{Session: first}, 1, op.StatusPass},
		{"the beginning of a session", Selection{Session: second[:len(second)-1]}, 3, op.StatusFail},
		{"the newest session", Selection{Last: 1}, 3, op.StatusFail},
		{"the session before", Selection{Last: 2}, 1, op.StatusPass},
		{"a commit", Selection{Commit: "aaaaaaa"}, 1, op.StatusPass},
		{"a machine", Selection{Machine: "h100"}, 1, op.StatusPass},
		{"before", Selection{Before: time.Date(2026, 1, 15, 0, 0, 0, 0, time.UTC)}, 1, op.StatusPass},
		{"implementations", Selection{Impl: []string{"cuda/naive"}}, 2, op.StatusPass},
	} {
		side, err := s.Side(ctx, c.name, c.sel)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if len(side.Entries) != c.want || side.Entries[0].Status != c.of {
			t.Errorf(
				"%s: %d entries, the first %v; want %d, %v",
				c.name,
				len(side.Entries),
				side.Entries[0].Status,
				c.want,
				c.of,
			)
		}
	}
	for name, sel := range map[string]Selection{
		"no session": {Session: "7ZZZ"}, "two sessions": {Session: first[:2]}, "too far back": {Last: 3},
		"no commit": {Commit: "ccccccc"},
	} {
		if _, err := s.Side(ctx, name, sel); !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A side has the times of its runs round by round, the machine, and the noise of their session.
func TestSidesHaveTimes(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	recordSession(t, s, "aaaaaaa1", "NVIDIA H200", passed(1, "cuda/warp"))
	side, err := s.Side(ctx, "it", Selection{})
	if err != nil {
		t.Fatal(err)
	}
	e := side.Entries[0]
	if len(e.Timings) != 1 || len(e.Timings[0].RoundsNS) != 2 || e.Timings[0].RoundsNS[0] != 101 ||
		e.Timings[0].RoundsNS[1] != 109 {
		t.Fatalf("times %+v, want the medians of two rounds, 101 and 109", e.Timings)
	}
	if n := e.Timings[0].Noise; n < 0.0299 || n > 0.0301 {
		t.Errorf("noise %v, want 0.03", n)
	}
	if e.Conditions.CopyRate != 4e12 || e.Conditions.Machine.GPU != "NVIDIA H200" ||
		e.Conditions.Toolchain["torch"] != "aaaaaaa1" {
		t.Errorf("conditions %+v", e.Conditions)
	}
	if e.Timings[0].ClockMHz != 1980 || e.Timings[0].Mode != "graph" {
		t.Errorf("time %+v", e.Timings[0])
	}
}

func TestVisits(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	wrong := failed(2)
	wrong.Source = "changed"
	recordSession(t, s, "aaaaaaa1", "NVIDIA H200", passed(1, "cuda/warp"), passed(2, "cuda/warp"))
	recordSession(t, s, "bbbbbbb2", "NVIDIA H200", passed(1, "cuda/warp"), &wrong)
	recordSession(t, s, "bbbbbbb2", "NVIDIA H200", passed(2, "cuda/warp"))
	visits, err := s.Visits(ctx, Filter{Op: []string{softmaxCase(1).Op}})
	if err != nil {
		t.Fatal(err)
	}
	if len(visits) != 3 {
		t.Fatalf("%d visits, want 3", len(visits))
	}
	if v := visits[1]; v.Good != 1 || v.Bad != 1 || v.BecameWrong != 1 || v.BecameRight != 0 ||
		v.Conditions.Commit != "bbbbbbb2" {
		t.Errorf("the second is %+v", v)
	}
	if v := visits[2]; v.BecameRight != 1 || v.BecameWrong != 0 || len(v.Times) != 1 {
		t.Errorf("the third is %+v", v)
	}
	steps := resultdiff.Histories(visits)["cuda/warp"]
	if len(steps) != 3 || len(steps[1].Changed) == 0 {
		t.Errorf("steps %+v", steps)
	}
	newest, err := s.Visits(ctx, Filter{Op: []string{softmaxCase(1).Op}, Limit: 2})
	if err != nil || len(newest) != 2 || newest[0].Session != visits[1].Session ||
		newest[1].Session != visits[2].Session {
		t.Errorf("the newest two: %+v, %v", newest, err)
	}
}

func TestSessionsAreCounted(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	wrong := failed(2)
	recordSession(t, s, "aaaaaaa1", "", passed(1, "cuda/warp"), &wrong)
	recordSession(t, s, "bbbbbbb2", "")
	all, err := s.Sessions(ctx, "", -1)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 2 || all[0].Session.Commit != "bbbbbbb2" || all[1].Good != 1 || all[1].Bad != 1 ||
		all[1].Timed != 1 ||
		all[1].State != "running" {
		t.Errorf("sessions %+v", all)
	}
	if one, err := s.Sessions(ctx, "", 1); err != nil || len(one) != 1 {
		t.Errorf("at most one: %d, %v", len(one), err)
	}
	older, err := s.Sessions(ctx, all[0].Session.ID, -1)
	if err != nil || len(older) != 1 || older[0].Session.ID != all[1].Session.ID {
		t.Errorf("before the newest: %+v, %v", older, err)
	}
}
