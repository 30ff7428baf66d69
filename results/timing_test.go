package results

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"triad/internal/op"
	"triad/internal/record"
)

func timed(regime string) record.Timing {
	return record.Timing{
		Regime: regime, Status: op.StatusPass, Message: "as it should be", N: 3, MedianNS: 2.5, LowNS: 1.5,
		HighNS: 3.5, MinNS: 1, P10NS: 1.25,
		P90NS: 3, Bytes: 8 << 30, FLOPs: 1 << 50, Roofline: new(record.Float(0.93)),
		ClockMHz: new(record.Float(1980)), SamplesNS: []float64{1, 2.5, 4},
		Rounds: []int{0, 0, 1}, Positions: []int{0, 1, 1}, ClocksMHz: []float64{1980, 0, 1965}, Discarded: 1,
		Because: "a slow clock",
		PowerW:  new(record.Float(412.5)), TemperatureC: new(record.Float(41)), Throttle: 1 << 40,
		Mode: "events", Sets: 9, Calls: 36, RotatedBytes: 130 << 20, Backward: record.RetainedGraph,
		Kernels: []record.Launch{{
			Kernel: "_Z3rowPf", Grid: [3]int{132, 1, 1}, Block: [3]int{256, 1, 1}, Registers: 40,
			SharedBytes:        128,
			DynamicSharedBytes: 1 << 16, LocalBytes: 8, BlocksPerMultiprocessor: 3, Occupancy: 0.375,
		}},
	}
}

func TestTimingsCeilingsAndComparisonsComeBack(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	x := start(t, s, "softmax")
	a, b := failed(8), failed(8)
	b.Impl, b.Variant = "cuda/block", "block"
	for _, r := range []*record.Record{&a, &b} {
		if err := x.Record(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	want := []record.Timing{timed("cold"), timed("warm"), timed("cold burst")}
	for _, timing := range []record.Timing{
		timed("cold burst"), timed("warm"),
		{Regime: "cold", Status: op.StatusUnstable, Mode: "graph"},
		timed("cold"),
	} {
		if err := x.AddTiming(ctx, a.ID, timing); err != nil {
			t.Fatal(err)
		}
	}
	run, err := s.Show(ctx, a.ID)
	if err != nil || !cmp.Equal(run.Record.Timings, want) {
		t.Errorf("%v\n%s", err, cmp.Diff(want, run.Record.Timings))
	}
	if run, err = s.Show(ctx, b.ID); err != nil || run.Record.Timings != nil {
		t.Errorf("what was not timed: %v %+v", err, run.Record.Timings)
	}

	ceilings := []record.Ceiling{
		{Session: x.ID(), Name: "bf16", FLOPsPerSecond: new(record.Float(7e14)), SamplesNS: []float64{1.5}},
		{Session: x.ID(), Name: "copy", BytesPerSecond: new(record.Float(4.1e12)), SamplesNS: []float64{}},
	}
	if err := x.AddCeilings(ctx, ceilings); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Ceilings(ctx, x.ID()); err != nil || !cmp.Equal(got, ceilings) {
		t.Errorf("%v\n%s", err, cmp.Diff(ceilings, got))
	}
	comparisons := []record.Comparison{
		{
			A: "cuda/warp", B: "cuda/warp", RunA: a.ID, RunB: a.ID, Regime: "cold",
			Ratios: []float64{1, 1.01}, Ratio: 1.005, Low: 1, High: 1.01, SpeedVerdict: "SAME",
		},
		{
			A: "cuda/warp", B: "cuda/block", RunA: a.ID, RunB: b.ID, Regime: "cold", Ratios: []float64{2},
			Ratio: 2, Low: 2, High: 2, SpeedVerdict: "AMBIGUOUS",
		},
	}
	if err := x.AddComparisons(ctx, comparisons); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Comparisons(ctx, x.ID()); err != nil || !cmp.Equal(got, comparisons) {
		t.Errorf("%v\n%s", err, cmp.Diff(comparisons, got))
	}
	answer, err := Query(ctx, s.Path(), "select regime, median_ns, timing_status from speed order by "+
		"regime limit 1", nil, Limits{HeapBytes: 1 << 30})
	if err != nil || len(answer.Rows) != 1 || answer.Rows[0][0] != "cold" {
		t.Errorf("the view speed: %v %+v", err, answer.Rows)
	}
}

// A timing belongs to an existing run, and has a status.
func TestATimingWithoutARunIsNotStored(t *testing.T) {
	s := openTest(t, filepath.Join(t.TempDir(), "r.db"), Options{})
	x := start(t, s, "softmax")
	if err := x.AddTiming(ctx, "01ARZ3NDEKTSV4RRFFQ69G5FAV", timed("cold")); !errors.Is(err, ErrNotFound) {
		t.Errorf("no such run: %v", err)
	}
	if err := x.AddComparisons(ctx,
		[]record.Comparison{{RunA: "a", RunB: "b", SpeedVerdict: "SAME"}}); !errors.Is(err, ErrNotFound) {
		t.Errorf("no such runs: %v", err)
	}
	r := failed(8)
	if err := x.Record(ctx, &r); err != nil {
		t.Fatal(err)
	}
	if err := x.AddTiming(ctx, r.ID, record.Timing{Regime: "cold"}); err == nil {
		t.Error("a timing without a status was stored")
	}
}

// A database of an older triad can be read: it is first migrated to this version's tables, and then opened
// for reading.
func TestAnOlderSchemaIsReadAfterItsMigration(t *testing.T) {
	steps, err := migrations(schemaFiles)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "r.db")
	old, err := open(ctx, path, Options{}, steps[:1])
	if err != nil {
		t.Fatal(err)
	}
	x := start(t, old, "softmax")
	r := failed(8)
	r.Outputs = nil // this version's statements do not fit the older tables
	if err := x.Record(ctx, &r); err != nil {
		t.Fatal(err)
	}
	if _, err := old.writer.Exec(`INSERT INTO verdict
		(run_id, position, output, status, gate, message, n, n_compared, n_wrong, pattern, judge_version)
		SELECT run_id, 0, 'y', 'PASS', '', '', 8, 8, 0, '', '1' FROM run`); err != nil {
		t.Fatal(err)
	}
	old.Close()
	s := openTest(t, path, Options{ReadOnly: true})
	run, err := s.Show(ctx, r.ID)
	if err != nil || run.Record.Impl != r.Impl || len(run.Record.Outputs) != 1 ||
		run.Record.Outputs[0].Status != op.StatusPass || !s.ReadOnly() {
		t.Errorf("%v %+v, read-only: %v", err, run.Record, s.ReadOnly())
	}
}
