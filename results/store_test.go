package results

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/internal/op"
	"triad/internal/record"
)

var ctx = context.Background()

// softmaxCase returns the i-th of many cases.
func softmaxCase(i int) op.Case {
	return op.Case{
		Op: "softmax", Pass: op.Forward, DType: "bf16",
		Dims: op.Dims{{Name: "rows", Value: int64(i)}, {Name: "cols", Value: 1000}},
		Attrs: op.Attrs{
			{Name: "scaling", Number: 2, Text: "block"},
			{Name: "eps", Number: 0x1p-17, Text: "7.6293945e-06"},
		}, Layout: "contiguous",
		Distribution: "normal",
	}
}

// failed returns a record with every field filled, NaN and infinities among them.
func failed(i int) record.Record {
	return record.Record{
		Case: softmaxCase(i), DTypes: record.Members[op.DType]{
			{Name: "x", Value: op.BF16},
			{Name: "y", Value: op.BF16},
		}, Seed: math.MaxUint64 - 1,
		Impl: "cuda/warp", Backend: "cuda", Variant: "warp", Device: "emulator", Source: "abc123",
		Status: op.StatusFail, Contract: "fp32",
		Message: "y[3,999] is NaN", Where: &record.Where{
			Kernel: "softmax_warp", Block: &[3]int{1, 2, 3},
			File: "softmax.cu", Line: 7,
		}, LogTail: "tail",
		Build: &record.Build{
			Compiler: "g++ 12", Flags: []string{"-O2"}, Seconds: 1.5,
			Kernels: []record.Kernel{{Kernel: "k", Arch: "sm_80", Registers: 32}},
		},
		Launches: 4, Started: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), Wall: 1234567, PeakBytes: 99,
		Outputs: []record.Verdict{
			{
				Name: "y", Status: op.StatusFail, Gate: "G1", Message: "NaN", N: 8000, NCompared: 7000,
				NCovered: 1000, NWrong: 1, Judge: "1",
				Worst: &record.Element{
					Index: []int64{3, 999}, Got: record.Float(math.NaN()),
					Want: record.Float(math.Inf(-1)), Low: record.Float(math.Inf(1)), High: 0.1,
				},
				ErrorMargin: new(record.Float(math.Inf(1))), ULPMax: new(record.Float(math.NaN())),
				ULPMean:     new(record.Float(5e-324)),
				AbsoluteMax: new(record.Float(0.125)), RelativeMax: new(record.Float(math.Inf(1))),
				RelationsPlanned: 3, Relations: []record.Relation{
					{Name: "each row adds up to 1", Holds: true, N: 8, NCompared: 8},
					{
						Name: "no element is negative", N: 8, NCompared: 8, NWrong: 1,
						Message: "y[3,999] is NaN",
						Worst: &record.Broken{
							Index: []int64{3, 999}, Got: record.Float(math.NaN()), Low: 0,
							High: record.Float(math.Inf(1)),
						},
					},
				},
				Statistics: &record.Statistics{
					Contract: "fp32", Promise: "sums in fp32", Digest: "5eed", DType: op.BF16,
					Saturates: true, Flushes: true, Exact: true,
					Independent: true, Used: record.Float(math.Inf(1)), ULPs: []int64{1, 0, 2}, NBlocks: 9,
					Worst: []record.Judged{{
						Index: []int64{3, 999}, Got: record.Float(math.NaN()), R: 0.1,
						T: 5e-324,
					}},
					Blocks: []record.Block{{
						Block: "all of it", N: 7, Error: 0.5, Simulated: 0.25,
						FP32: 0x1p-24, Limit: record.Float(math.Inf(1)),
					}},
					Slope: &record.Slope{Spread: 300, Slope: -1e-9, Sigma: 1e-10, ErrorBound: 0.3},
				},
			},
			{Name: "lse", Status: op.StatusMissing, Message: "not given"},
		},
	}
}

func openTest(t *testing.T, path string, o Options) *Store {
	t.Helper()
	s, err := Open(ctx, path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func start(t *testing.T, s *Store, request string, plan ...record.Item) *Session {
	t.Helper()
	x, err := s.Start(ctx, record.Session{
		Request: request, Command: []string{"compare", "softmax"}, Version: "1", Level: "quick", Seed: 7,
		Added: []string{"my.cu"}, Machine: record.Machine{OS: "linux", CPU: "test", Cores: 2},
		Toolchain: record.Toolchain{"g++": "12"},
	}, plan)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

var floats = cmp.Comparer(func(a, b record.Float) bool {
	return math.Float64bits(float64(a)) == math.Float64bits(float64(b)) ||
		math.IsNaN(float64(a)) && math.IsNaN(float64(b))
})

func TestARecordComesBackAsItWasGiven(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "sub folder?#%", "r.db"), Options{})
	x := start(t, s, "softmax")
	r := failed(8)
	if err := x.Record(ctx, &r); err != nil {
		t.Fatal(err)
	}
	got, err := s.Show(ctx, r.ID[:24])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(r, got.Record, floats); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	info := x.Info()
	info.Started = info.Started.UTC().Truncate(time.Millisecond)
	if diff := cmp.Diff(info, got.Session); diff != "" {
		t.Errorf("session (-want +got)\n%s", diff)
	}
	if got.Record.Case.Key() != r.Case.Key() {
		t.Error("the case has another key than before")
	}
}

func TestDifferencesComeBackWithBothRuns(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	x := start(t, s, "softmax")
	a, b := failed(8), failed(8)
	b.Impl, b.Variant = "cuda/naive", "naive"
	for _, r := range []*record.Record{&a, &b} {
		r.Status = op.StatusPass
		if err := x.Record(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	d := record.Difference{
		Session: x.ID(), CaseKey: a.Case.Key(), Op: "softmax", Pass: op.Forward, DType: "bf16", Output: "y",
		A: b.Impl, B: a.Impl, RunA: b.ID,
		RunB: a.ID, N: 8000, NDifferent: 3, ULPMax: new(record.Float(math.Inf(1))),
		Worst: &record.Disparity{Index: []int64{1, 2}, A: record.Float(math.NaN()), B: 2},
	}
	if err := x.AddDifferences(ctx, []record.Difference{d}); err != nil {
		t.Fatal(err)
	}
	got, err := s.Show(ctx, a.ID)
	if diff := cmp.Diff([]record.Difference{d}, got.Differences, floats); diff != "" || err != nil {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
	d.RunA = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	if err := x.AddDifferences(ctx, []record.Difference{d}); !errors.Is(err, ErrNotFound) {
		t.Errorf("a difference with an unknown run: %v", err)
	}
	if n := count(t, s, "SELECT count(*) FROM disagreements WHERE kind = 'pair'"); n != 1 {
		t.Errorf("disagreements has %d pairs, want the one of NaN against a number", n)
	}
}

func count(t *testing.T, s *Store, query string) (n int) {
	t.Helper()
	if err := s.reader.QueryRow(query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestWhatSaysNothingIsNotStored(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	x := start(t, s, "softmax")
	for name, change := range map[string]func(*record.Record){
		"no status":                func(r *record.Record) { r.Status = op.StatusUnknown },
		"no pass":                  func(r *record.Record) { r.Case.Pass = op.PassUnknown },
		"no implementation":        func(r *record.Record) { r.Impl = "" },
		"an output without status": func(r *record.Record) { r.Outputs[0].Status = op.StatusUnknown },
		"an output twice":          func(r *record.Record) { r.Outputs[1].Name = "y" },
	} {
		r := failed(1)
		change(&r)
		if err := x.Record(ctx, &r); err == nil || r.ID != "" {
			t.Errorf("%s: stored as %q", name, r.ID)
		}
	}
	if n := count(t, s, "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM verdict) + (SELECT "+
		"count(*) FROM plan)"); n != 0 {
		t.Errorf("%d rows are left of what was refused", n)
	}
}

func TestFiltersPickWhatTheySay(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	x := start(t, s, "softmax")
	for i, change := range []func(*record.Record){
		func(r *record.Record) {},
		func(r *record.Record) { r.Status, r.Impl = op.StatusPass, "cuda/naive" },
		func(r *record.Record) { r.Status, r.Impl, r.Case.DType = op.StatusPass, "triton/row", "fp32" },
		func(r *record.Record) { r.Case.Op, r.Started = "rope", time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC) },
		func(r *record.Record) { r.Case.Pass, r.Case.Upstream = op.Backward, "ones" },
	} {
		r := failed(8 + i)
		change(&r)
		if err := x.Record(ctx, &r); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name string
		f    Filter
		want int
	}{
		{"nothing asked", Filter{}, 5},
		{"op", Filter{Op: []string{"rope"}}, 1},
		{"two ops", Filter{Op: []string{"rope", "softmax"}}, 5},
		{"implementation", Filter{Impl: []string{"cuda"}}, 4},
		{"not a pattern", Filter{Impl: []string{"c%"}}, 0},
		{"two", Filter{Impl: []string{"triton", "cuda/naive"}}, 2},
		{"dtype", Filter{DType: []string{"fp32"}}, 1},
		{"status", Filter{Status: []op.Status{op.StatusPass}}, 2},
		{"bad", Filter{Bad: true}, 3},
		{"since", Filter{Since: time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC)}, 1},
		{"pass", Filter{Pass: op.Backward}, 1},
		{"session", Filter{Session: x.ID()}, 5},
		{"other session", Filter{Session: "nope"}, 0},
		{"case", Filter{Case: softmaxCase(8).Key()}, 1},
	} {
		got, total, err := s.List(ctx, c.f)
		if err != nil || len(got) != c.want || total != c.want {
			t.Errorf("%s: %d records of %d, %v; want %d", c.name, len(got), total, err, c.want)
		}
	}
	got, total, err := s.List(ctx, Filter{Limit: 2})
	if err != nil || len(got) != 2 || total != 5 || got[0].ID < got[1].ID {
		t.Errorf("limit 2 gives %d of %d, newest first: %v, %v", len(got), total, got[0].ID > got[1].ID, err)
	}
}

func TestTheViewsAnswerFromTheNewestRun(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	for i, status := range []op.Status{op.StatusFail, op.StatusPass} {
		x := start(t, s, "softmax")
		r := failed(8)
		r.Status, r.Source = status, fmt.Sprint("source", i)
		if err := x.Record(ctx, &r); err != nil {
			t.Fatal(err)
		}
		if want := 1 - i; count(t, s, "SELECT count(*) FROM disagreements") != want {
			t.Errorf("after %s disagreements has %d rows, want %d", status,
				count(t, s, "SELECT count(*) FROM disagreements"), want)
		}
	}
	if n := count(t, s, "SELECT count(*) FROM latest"); n != 1 {
		t.Errorf("latest has %d rows, want 1", n)
	}
	if n := count(t, s, "SELECT count(*) FROM history"); n != 2 {
		t.Errorf("history has %d rows, want 2", n)
	}
	if n := count(t, s, "SELECT count(*) FROM speed"); n != 0 {
		t.Errorf("speed has %d rows where nothing was timed", n)
	}
	key := softmaxCase(8).Key()
	history, total, err := s.History(ctx, key, "cuda/warp", "", -1)
	if err != nil || total != 2 || len(history) != 2 || history[0].Status != op.StatusFail ||
		history[1].Source != "source1" {
		t.Fatalf("history: %v, %v", history, err)
	}
	newest, total, err := s.History(ctx, key, "cuda/warp", "", 1)
	if err != nil || total != 2 || len(newest) != 1 || newest[0].ID != history[1].ID {
		t.Errorf("the newest of the history: %v of %d, %v", newest, total, err)
	}
	older, total, err := s.History(ctx, key, "cuda/warp", newest[0].ID, 1)
	if err != nil || total != 1 || len(older) != 1 || older[0].ID != history[0].ID {
		t.Errorf("what is before it: %v of %d, %v", older, total, err)
	}
}

func TestEveryStatusHasItsWeight(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	names := map[op.Weight]string{op.Good: "good", op.Neutral: "neutral", op.Bad: "bad"}
	for _, status := range op.Statuses() {
		var weight string
		if err := s.reader.QueryRow("SELECT weight FROM status WHERE status = ?",
			status.String()).Scan(&weight); err != nil || weight != names[status.Weight()] {
			t.Errorf("%s weighs %q in the database, %q in op: %v", status, weight, names[status.Weight()],
				err)
		}
	}
	if n := count(t, s, "SELECT count(*) FROM status"); n != len(op.Statuses()) {
		t.Errorf("the database knows %d statuses, op %d", n, len(op.Statuses()))
	}
}

func plan(n int) []record.Item {
	var items []record.Item
	for i := range n {
		items = append(items, record.Item{Case: softmaxCase(i), Impl: "cuda/warp", Seed: math.MaxUint64 - 1})
	}
	return items
}

func TestResumeGivesWhatIsMissingExactlyOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	first := openTest(t, path, Options{})
	x := start(t, first, "softmax quick", plan(10)...)
	for _, i := range []int{0, 3, 4} {
		r := failed(i)
		if err := x.Record(ctx, &r); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Begin(ctx, plan(10)[5]); err != nil {
		t.Fatal(err)
	}
	second := openTest(t, path, Options{})
	if _, _, err := second.Resume(ctx, "softmax quick"); !errors.Is(err, ErrNothingToResume) {
		t.Errorf("a session that is alive was resumed: %v", err)
	}
	first.Close() // as if the process had ended
	if _, _, err := second.Resume(ctx, "rope quick"); !errors.Is(err, ErrNothingToResume) {
		t.Errorf("another request was resumed: %v", err)
	}
	y, missing, err := second.Resume(ctx, "softmax quick")
	if err != nil {
		t.Fatal(err)
	}
	if y.ID() != x.ID() || y.Info().Version != "1" {
		t.Errorf("resumed %s, want %s", y.ID(), x.ID())
	}
	want := slices.DeleteFunc(plan(10),
		func(i record.Item) bool { return slices.Contains([]int64{0, 3, 4}, i.Case.Dims[0].Value) })
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Errorf("missing (-want +got)\n%s", diff)
	}
	if n := count(t, second, "SELECT count(*) FROM run WHERE status = 'INTERRUPTED'"); n != 1 {
		t.Errorf("%d runs are INTERRUPTED, want the one that was begun", n)
	}
	for _, item := range missing {
		r := failed(int(item.Case.Dims[0].Value))
		if err := y.Record(ctx, &r); err != nil {
			t.Fatal(err)
		}
		if err := y.Record(ctx, &r); !errors.Is(err, ErrAlreadyRecorded) {
			t.Errorf("a second record of the same entry: %v", err)
		}
	}
	if err := y.Finish(ctx, true, 1); err != nil {
		t.Fatal(err)
	}
	if _, _, err := second.Resume(ctx, "softmax quick"); !errors.Is(err, ErrNothingToResume) {
		t.Errorf("a complete session was resumed: %v", err)
	}
	if n := count(t, second, "SELECT count(*) FROM run WHERE status <> 'INTERRUPTED'"); n != 10 {
		t.Errorf("%d results, want 10", n)
	}
}

func TestOneOfManyGetsTheInterruptedSession(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	s := openTest(t, path, Options{})
	if err := start(t, s, "softmax", plan(3)...).Finish(ctx, false, 130); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	var mu sync.Mutex
	got := 0
	for range 6 {
		other := openTest(t, path, Options{})
		group.Go(func() {
			_, missing, err := other.Resume(ctx, "softmax")
			mu.Lock()
			defer mu.Unlock()
			if err == nil && len(missing) == 3 {
				got++
			} else if !errors.Is(err, ErrNothingToResume) {
				t.Errorf("resume: %v", err)
			}
		})
	}
	group.Wait()
	if got != 1 {
		t.Errorf("%d stores resumed the session, want 1", got)
	}
}

// IDs rise within a process and from one to the next, even if the clock of the next is years behind.
func TestIDsRiseThoughTheClockGoesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "r.db")
	clock := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	lastSession, last := "", ""
	rises := func(step time.Duration, end bool) {
		t.Helper()
		s := openTest(t, path, Options{Now: func() time.Time { clock = clock.Add(step); return clock }})
		defer s.Close()
		for i := range 10 {
			x := start(t, s, "softmax")
			r := failed(i)
			if err := x.Record(ctx, &r); err != nil {
				t.Fatal(err)
			}
			if r.ID <= last || x.ID() <= lastSession {
				t.Errorf("run %s of session %s was recorded after %s of %s", r.ID, x.ID(), last, lastSession)
			}
			lastSession, last = x.ID(), r.ID
			if end {
				if err := x.Finish(ctx, true, 0); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	rises(-time.Hour, true)
	rises(100*time.Hour, true) // sessions of weeks: their IDs are later than tomorrow for their beginnings
	clock = clock.AddDate(-6, 0, 0)
	rises(time.Second, false)
	clock = clock.AddDate(7, 0, 0)
	rises(100*time.Hour, false)
	clock = time.Unix(0, 0)
	rises(time.Second, true)
}

func TestTheConnectionIsSetAsPromised(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	for pragma, want := range map[string]string{
		"journal_mode": "wal", "synchronous": "2",
		"foreign_keys": "1", "busy_timeout": "5000", "application_id": "1414678849",
	} {
		var got string
		if err := s.writer.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, want %s (%v)", pragma, got, want, err)
		}
	}
	var loose sql.NullString
	if err := s.reader.QueryRow("SELECT group_concat(name) FROM pragma_table_list WHERE type = 'table' " +
		"AND NOT strict AND name NOT LIKE 'sqlite_%'").Scan(&loose); err != nil || loose.Valid {
		t.Errorf("tables that are not STRICT: %q, %v", loose.String, err)
	}
	if _, err := s.reader.Exec("DELETE FROM status"); err == nil {
		t.Error("the reading connection wrote")
	}
}

func TestShowSaysWhatIsWrongWithAnID(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	x := start(t, s, "softmax")
	for i := range 2 {
		r := failed(i)
		if err := x.Record(ctx, &r); err != nil {
			t.Fatal(err)
		}
	}
	for id, want := range map[string]error{
		"": ErrNotFound, "ZZZ": ErrNotFound, "'; --": ErrNotFound, "01ARZ3NDEKTSV4RRFFQ69G5FAV0": ErrNotFound,
		"0": ErrAmbiguous,
	} {
		if _, err := s.Show(ctx, id); !errors.Is(err, want) {
			t.Errorf("show %q: %v, want %v", id, err, want)
		}
	}
}

func TestOpeningForReadingMakesNoFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sub", "r.db")
	if _, err := Open(ctx, path, Options{ReadOnly: true}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}
