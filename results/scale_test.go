package results

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/resultdiff"
)

// The shape of a year of results: sessions that each run every implementation on every case.
const (
	scaleOps   = 25
	scaleCases = 25 // of an operator
	scaleImpls = 8
	scaleRuns  = scaleOps * scaleCases * scaleImpls // of a session
)

func scaleOp(i int) string { return fmt.Sprintf("op%02d", i) }

// scaleRecord returns one of scaleRuns results of a session. Each fiftieth is wrong, each eighth is timed.
func scaleRecord(i int) record.Record {
	r := failed(i / scaleImpls % scaleCases)
	impl := i % scaleImpls
	family := []string{"cuda", "triton", "torch", "liger"}[impl%4]
	r.Case.Op, r.Impl = scaleOp(i/scaleImpls/scaleCases), fmt.Sprintf("%s/v%d", family, impl)
	r.Backend, r.Variant, r.Source = family, fmt.Sprint("v", impl), fmt.Sprintf("source%d", impl)
	r.Message, r.LogTail, r.Started = "", "", time.Time{}
	r.Outputs = r.Outputs[:1]
	r.Outputs[0].Relations, r.Outputs[0].RelationsPlanned = nil, 0
	if i%50 != 0 {
		r.Status, r.Outputs[0].Status = op.StatusPass, op.StatusPass
	}
	return r
}

func scaleTiming(i int) record.Timing {
	t := timed("cold")
	t.N, t.SamplesNS, t.Rounds, t.Positions, t.ClocksMHz = 0, nil, nil, nil, nil
	for k := range 40 {
		t.SamplesNS = append(t.SamplesNS, 1000+float64(i%97)+float64(k*k%13)/8)
		t.Rounds, t.ClocksMHz = append(t.Rounds, k/2), append(t.ClocksMHz, 1980)
		t.N++
	}
	return t
}

// scaleDatabase makes a database of so many sessions of scaleRuns results. The first is recorded as any
// other; the others are copies of its rows an hour apart, of another commit every tenth.
func scaleDatabase(t testing.TB, path string, sessions int) {
	t.Helper()
	s, err := Open(ctx, path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x, err := s.Start(ctx, record.Session{
		Request: "all", Command: []string{"bench", "all"}, Version: "1", Commit: "0000000000", Level: "quick",
		Machine: record.Machine{OS: "linux", CPU: "test", Cores: 2, GPU: "H200"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range scaleRuns {
		r := scaleRecord(i)
		if err := x.Record(ctx, &r); err != nil {
			t.Fatal(err)
		}
		if i%8 == 0 && r.Status == op.StatusPass {
			same := record.Comparison{
				A: r.Impl, B: r.Impl, RunA: r.ID, RunB: r.ID, Regime: "cold", Ratio: 1, Low: 0.99, High: 1.01,
				SpeedVerdict: "SAME",
			}
			if err := errors.Join(x.AddTiming(ctx, r.ID, scaleTiming(i)),
				x.AddComparisons(ctx, []record.Comparison{same})); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := x.Finish(ctx, true, 1); err != nil {
		t.Fatal(err)
	}
	copies, err := copiesOfASession(s)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < sessions; n++ {
		tx, err := s.writer.Begin()
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range copies {
			if _, err := tx.Exec(statement, n); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
		if err := tx.Commit(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.writer.Exec("PRAGMA optimize"); err != nil {
		t.Fatal(err)
	}
}

// copiesOfASession returns the statements that copy the first session of a database as its ?-th one after it.
func copiesOfASession(s *Store) ([]string, error) {
	id := func(column string) string { // the copy's ID sorts after those before it
		return fmt.Sprintf("printf('7%%07X%%s', ?1, substr(o.%s, 9))", column)
	}
	later := func(column string) string {
		return fmt.Sprintf("strftime('%%Y-%%m-%%dT%%H:%%M:%%S.000Z', o.%s, ?1 || ' hours')", column)
	}
	var all []string
	for _, c := range []struct {
		table  string
		change map[string]string
	}{
		{"session", map[string]string{
			"session_id": "o.session_id + ?1", "session_ulid": id("session_ulid"),
			"commit_hash": "printf('%010x', ?1 / 10)", "started_utc": later("started_utc"),
			"ended_utc": later("ended_utc"),
		}},
		{"plan", map[string]string{
			"plan_id": fmt.Sprint("o.plan_id + ?1 * ", scaleRuns), "session_id": "o.session_id + ?1",
		}},
		{"run", map[string]string{
			"run_id": fmt.Sprint("o.run_id + ?1 * ", scaleRuns), "session_id": "o.session_id + ?1",
			"plan_id": fmt.Sprint("o.plan_id + ?1 * ", scaleRuns), "run_ulid": id("run_ulid"),
			"started_utc": later("started_utc"), "recorded_utc": later("recorded_utc"),
		}},
		{"verdict", map[string]string{"run_id": fmt.Sprint("o.run_id + ?1 * ", scaleRuns)}},
		{"timing", map[string]string{"run_id": fmt.Sprint("o.run_id + ?1 * ", scaleRuns)}},
		{"comparison", map[string]string{
			"run_a_id": fmt.Sprint("o.run_a_id + ?1 * ", scaleRuns),
			"run_b_id": fmt.Sprint("o.run_b_id + ?1 * ", scaleRuns),
		}},
	} {
		step := mergeStep{
			table: c.table,
			refs:  c.change,
			order: "1",
			where: fmt.Sprint("o.rowid <= ", scaleRuns),
		}
		switch c.table {
		case "session":
			step.where = "o.session_id = 1"
		case "verdict", "timing":
			step.where = fmt.Sprint("o.run_id <= ", scaleRuns)
		case "comparison":
			step.where = fmt.Sprint("o.run_a_id <= ", scaleRuns)
		}
		statement, err := step.statement(s.reader)
		if err != nil {
			return nil, err
		}
		all = append(all, strings.Replace(statement, "other.", "main.", 1))
	}
	return all, nil
}

// question is a query that a command or a page makes.
type question struct {
	name string
	ask  func(s *Store) error
}

// questions returns the queries that have to be answered within a second, however large the database is.
func questions() []question {
	one := []string{scaleOp(7)}
	day := time.Now().Add(48 * time.Hour)
	return []question{
		{"list", listed(Filter{})},
		{"list/op", listed(Filter{Op: one})},
		{"list/bad", listed(Filter{Bad: true})},
		{"list/op-bad-impl", listed(Filter{Op: one, Bad: true, Impl: []string{"cuda"}})},
		{"list/dtype-impl", listed(Filter{DType: []string{"bf16"}, Impl: []string{"triton/v1"}})},
		{"list/since", listed(Filter{Since: day})},
		{"sessions", func(s *Store) error { _, err := s.Sessions(ctx, "", 20); return err }},
		{"names", func(s *Store) error { _, err := s.Recorded(ctx); return err }},
		{"show", func(s *Store) error {
			records, _, err := s.List(ctx, Filter{Op: one, Limit: 1})
			if err == nil {
				_, err = s.Show(ctx, records[0].ID)
			}
			return err
		}},
		{"history", visited(Filter{Op: one})},
		{"history/impl", visited(Filter{Op: one, Impl: []string{"cuda/v0"}})},
		{"diff/last~1-last", compared(Selection{Last: 1})},
		{"diff/last~1-commit", compared(Selection{Commit: "0000000003"})},
		{"diff/last~1-machine", compared(Selection{Machine: "h200"})},
		{"diff/op-machine", compared(Selection{Machine: "h200", Op: one})},
		{"query/least-headroom", saved("least-headroom")},
		{"query/disagree", saved("disagree")},
		{"query/slowest", saved("slowest")},
		{"query/flaky", saved("flaky")},
		{"query/changed", saved("changed")},
		{"query/only-in", saved("only-in")},
	}
}

func listed(f Filter) func(*Store) error {
	return func(s *Store) error {
		f.Limit = 50
		records, total, err := s.List(ctx, f)
		if err == nil && (len(records) == 0 || total < len(records)) {
			err = fmt.Errorf("%d records of %d", len(records), total)
		}
		return err
	}
}

// compared returns a diff of the newest session but one with another side.
func compared(sel Selection) func(*Store) error {
	return func(s *Store) error {
		a, err := s.Side(ctx, "a", Selection{Last: 2, Op: sel.Op})
		if err != nil {
			return err
		}
		b, err := s.Side(ctx, "b", sel)
		if err == nil && len(resultdiff.Diff(a, b, resultdiff.Options{})) == 0 {
			err = errors.New("no difference was looked at")
		}
		return err
	}
}

func visited(f Filter) func(*Store) error {
	return func(s *Store) error {
		all, err := s.Visits(ctx, f)
		if err == nil && len(all) == 0 {
			err = errors.New("no visit")
		}
		resultdiff.Histories(all)
		return err
	}
}

// saved returns a query that comes with triad, as the command runs it.
func saved(name string) func(*Store) error {
	return func(s *Store) error {
		all, err := NamedQueries(time.Now())
		if err != nil {
			return err
		}
		at := slices.IndexFunc(all, func(q Named) bool { return q.Name == name })
		params := map[string]any{}
		for _, p := range all[at].Params {
			params[p.Name] = p.Default
		}
		_, err = Query(ctx, s.path, all[at].SQL, params, Limits{Deadline: time.Minute})
		return err
	}
}

// BenchmarkMillion answers each question from a database of 1,000,000 results; TRIAD_TEST_SCALE names a file
// to keep it in.
func BenchmarkMillion(b *testing.B) {
	path := os.Getenv("TRIAD_TEST_SCALE")
	if path == "" {
		path = filepath.Join(b.TempDir(), "r.db")
	}
	if _, err := os.Stat(path); err != nil {
		began := time.Now()
		scaleDatabase(b, path, 1_000_000/scaleRuns)
		info, _ := os.Stat(path)
		b.Logf("made in %v: %d MB", time.Since(began).Round(time.Second), info.Size()>>20)
	}
	for _, q := range questions() {
		b.Run(q.name, func(b *testing.B) {
			began, asked := processorTime(b), 0
			for b.Loop() {
				asked++
				s, err := Open(ctx, path, Options{ReadOnly: true})
				if err == nil {
					err = q.ask(s)
					s.Close()
				}
				if err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64((processorTime(b)-began).Milliseconds())/float64(asked), "cpu-ms/op")
		})
	}
}

// processorTime returns the CPU time that this process has used: under other load wall time says little.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkRecord records results in transactions of 1 and of 100.
func BenchmarkRecord(b *testing.B) {
	for _, size := range []int{1, 100} {
		b.Run(strconv.Itoa(size), func(b *testing.B) {
			s, err := Open(ctx, filepath.Join(b.TempDir(), "r.db"), Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			x, err := s.Start(ctx, record.Session{Request: "bench"}, nil)
			if err != nil {
				b.Fatal(err)
			}
			began, recorded := processorTime(b), 0
			for b.Loop() {
				batch := make([]*record.Record, size)
				for i := range batch {
					batch[i] = new(record.Record(scaleRecord(recorded % scaleRuns)))
					batch[i].Seed = uint64(recorded)
					recorded++
				}
				if err := x.Record(ctx, batch...); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(recorded)/b.Elapsed().Seconds(), "results/s")
			b.ReportMetric(float64(recorded)/(processorTime(b)-began).Seconds(), "results/cpu-s")
		})
	}
}
