package export

import (
	"bytes"
	"encoding/csv"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/parquet-go/parquet-go"
	"golang.org/x/perf/benchfmt"

	"triad/internal/op"
	"triad/internal/record"
)

// records returns one record that was timed in two regimes and one that failed.
func records() []record.Record {
	c := op.Case{
		Op: "doubled", Pass: op.Forward, DType: "bf16",
		Dims: op.Dims{{Name: "rows", Value: 8}, {Name: "cols", Value: 5}},
		Attrs: op.Attrs{
			{Name: "eps", Number: 1e-5, Text: "1e-05"},
		}, Layout: "contiguous", Distribution: "normal",
	}
	timed := record.Timing{
		Regime: "cold", Status: op.StatusPass, N: 4, MedianNS: 105, LowNS: 100, HighNS: 110, Calls: 3,
		SamplesNS: []float64{100, 102, 108, 110}, Rounds: []int{0, 0, 1, 1}, Roofline: new(record.Float(0.5)),
	}
	warm, noisy := timed, timed
	warm.Regime, noisy.Regime, noisy.Status = "warm burst", "cold sustained", op.StatusUnstable
	return []record.Record{
		{
			ID: "01A", Session: "01S", Case: c, Seed: math.MaxUint64, Impl: "cuda/warp",
			Backend: "cuda", Variant: "warp",
			Status: op.StatusPass, Started: time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC),
			Outputs: []record.Verdict{
				{Name: "y", ErrorMargin: new(record.Float(3)), ULPMax: new(record.Float(0.5)), NCompared: 40},
				{
					Name:        "z",
					ErrorMargin: new(record.Float(2)),
					ULPMax:      new(record.Float(math.Inf(1))),
					NCompared:   8,
				},
			},
			Timings: []record.Timing{timed, warm, noisy},
		},
		{
			ID: "01B", Session: "01S", Case: c, Impl: "triton/row", Status: op.StatusFail,
			Message: "y[0] is \"wrong\",\nby far",
			Outputs: []record.Verdict{{Name: "y", NWrong: 7, NCompared: 40}},
		},
	}
}

func TestCSV(t *testing.T) {
	var text bytes.Buffer
	if err := CSV(&text, Rows(records())); err != nil {
		t.Fatal(err)
	}
	lines, err := csv.NewReader(&text).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(lines) != 5 {
		t.Fatalf("%d lines, want a header, three regimes and a failure", len(lines))
	}
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	for _, c := range []struct {
		line       int
		name, want string
	}{
		{1, "id", "01A"},
		{1, "started_utc", "2026-01-02T03:04:05.006Z"},
		{1, "dims", "rows=8 cols=5"},
		{1, "attributes", "eps=1e-05"},
		{1, "seed", "18446744073709551615"},
		{1, "headroom", "2"},
		{1, "ulp_max", "+Inf"},
		{1, "n_compared", "48"},
		{1, "regime", "cold"},
		{1, "median_ns", "105"},
		{1, "roofline", "0.5"},
		{2, "regime", "warm burst"},
		{3, "timing_status", "UNSTABLE"},
		{4, "regime", ""},
		{4, "median_ns", ""},
		{4, "weight", "bad"},
		{4, "n_wrong", "7"},
		{4, "message", "y[0] is \"wrong\",\nby far"},
		{4, "started_utc", ""},
	} {
		if got := lines[c.line][column[c.name]]; got != c.want {
			t.Errorf("line %d, %s: %q, want %q", c.line, c.name, got, c.want)
		}
	}
}

func TestParquet(t *testing.T) {
	want := Rows(records())
	var file bytes.Buffer
	if err := Parquet(&file, want); err != nil {
		t.Fatal(err)
	}
	got, err := parquet.Read[Row](bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		t.Fatal(err)
	}
	for i := range got {
		got[i].StartedUTC = got[i].StartedUTC.UTC()
		if want[i].StartedUTC.IsZero() { // Parquet has no such time
			got[i].StartedUTC = want[i].StartedUTC
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestBenchmarks(t *testing.T) {
	var text bytes.Buffer
	session := record.Session{
		ID:      "01S",
		Version: "1",
		Commit:  "abc",
		Machine: record.Machine{GPU: "NVIDIA H200"},
	}
	lines, err := Benchmarks(&text, session, records())
	if err != nil || lines != 4 {
		t.Fatalf("%d lines, %v: want two rounds of two regimes", lines, err)
	}
	reader := benchfmt.NewReader(strings.NewReader(text.String()), "it")
	var found []float64
	for reader.Scan() {
		r, ok := reader.Result().(*benchfmt.Result)
		if !ok {
			t.Fatalf("%v in\n%s", reader.Result(), text.String())
		}
		if r.GetConfig("gpu") != "NVIDIA H200" || r.GetConfig("commit") != "abc" || r.Iters != 3 {
			t.Errorf("%+v", r)
		}
		if ns, ok := r.Value("sec/op"); ok {
			found = append(found, math.Round(ns*1e9))
		}
		want := "Doubled/pass=forward/dtype=bf16/rows=8/cols=5/eps=1e-05/impl=cuda:warp/regime="
		if !strings.HasPrefix(string(r.Name.Full()), want) ||
			strings.Contains(string(r.Name.Full()), "sustained") {
			t.Errorf("name %s, want %s...", r.Name.Full(), want)
		}
	}
	if diff := cmp.Diff([]float64{101, 109, 101, 109}, found); diff != "" {
		t.Errorf("ns (-want +got)\n%s", diff)
	}
}
