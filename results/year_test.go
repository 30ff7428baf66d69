package results

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/resultdiff"
)

// publishedRecords returns the timed records of one implementation in a published file.
func publishedRecords(t *testing.T, file, impl string) []record.Record {
	t.Helper()
	f, err := os.Open(filepath.Join("published/h200", file))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []record.Record
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var object struct {
			Op, Pass, DType, Layout, Distribution, Impl, Source, Contract string
			Upstream, Saved                                               *string
			Dims                                                          record.Members[int64]
			Status                                                        op.Status
			Outputs                                                       []record.Verdict
			Timing                                                        *record.Timing
		}
		if err := json.Unmarshal(lines.Bytes(), &object); err != nil {
			t.Fatal(err)
		}
		if object.Impl != impl || object.Timing == nil {
			continue
		}
		r := record.Record{
			Impl: impl, Source: object.Source, Status: object.Status, Outputs: object.Outputs,
			Contract: object.Contract,
			Timings:  []record.Timing{*object.Timing}, Device: "gpu", Seed: 1,
			Case: op.Case{
				Op: object.Op, DType: object.DType, Layout: object.Layout, Distribution: object.Distribution,
			},
		}
		r.Backend, r.Variant, _ = strings.Cut(impl, "/")
		for _, d := range object.Dims {
			r.Case.Dims = append(r.Case.Dims, op.Dim{Name: d.Name, Value: d.Value})
		}
		if object.Upstream != nil {
			r.Case.Upstream, r.Case.Saved = *object.Upstream, "driver"
		}
		if err := r.Case.Pass.UnmarshalText([]byte(object.Pass)); err != nil {
			t.Fatal(err)
		}
		all = append(all, r)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// month holds the parameters of one session of the recorded year.
type month struct {
	source string
	wrong  bool
	slower float64 // times its times
	torch  string
	driver string
}

// recordMonth replays published records as the session of a month.
func recordMonth(t *testing.T, path string, number int, m month, records []record.Record) {
	t.Helper()
	at := time.Date(2026, time.Month(number), 1, 12, 0, 0, 0, time.UTC)
	s := openTest(t, path, Options{Now: func() time.Time { return at }})
	defer s.Close()
	x, err := s.Start(ctx, record.Session{
		Request: "bench", Command: []string{"bench"}, Version: "1", Commit: "0123456",
		Machine: record.Machine{
			OS:        "linux",
			CPU:       "test",
			Cores:     16,
			GPU:       "NVIDIA H200",
			GPUDriver: m.driver,
		},
		Toolchain: record.Toolchain{"torch": m.torch},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		r.Source, r.Started = m.source, at
		timing := r.Timings[0]
		if m.wrong {
			r.Status, r.Outputs = op.StatusFail, slices.Clone(r.Outputs)
			r.Outputs[0].Status, r.Outputs[0].Message = op.StatusFail, "planted"
		}
		if err := x.Record(ctx, &r); err != nil {
			t.Fatal(err)
		}
		if m.wrong {
			continue
		}
		timing.SamplesNS = slices.Clone(timing.SamplesNS)
		for i := range timing.SamplesNS {
			timing.SamplesNS[i] *= m.slower
		}
		timing.MedianNS, timing.LowNS, timing.HighNS = timing.MedianNS*m.slower, timing.LowNS*m.slower,
			timing.HighNS*m.slower
		if err := x.AddTiming(ctx, r.ID, timing); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.Finish(ctx, true, 0); err != nil {
		t.Fatal(err)
	}
}

// recordedYear returns a year of one kernel, made from published results of an H200: a new source that
// changes nothing, one that is wrong and its repair, one that is slower and its repair, a new torch, a new
// driver.
func recordedYear(t *testing.T) (path string, cases int) {
	t.Helper()
	records := publishedRecords(t, "rope.jsonl", "cuda/vec")
	if len(records) < 4 {
		t.Fatalf("%d published records", len(records))
	}
	path = filepath.Join(t.TempDir(), "year.db")
	m := month{source: "a", slower: 1, torch: "2.10.0", driver: "570"}
	for number := 1; number <= 12; number++ {
		switch number {
		case 3:
			m.source = "b"
		case 5:
			m.source, m.wrong = "c", true
		case 6:
			m.source, m.wrong = "d", false
		case 8:
			m.source, m.slower = "e", 1.25
		case 9:
			m.source, m.slower = "d", 1
		case 10:
			m.torch = "2.11.0"
		case 11:
			m.driver = "580"
		}
		recordMonth(t, path, number, m, records)
	}
	return path, len(records)
}

func TestHistoryOfARecordedYear(t *testing.T) {
	path, cases := recordedYear(t)
	s := openTest(t, path, Options{ReadOnly: true})
	visits, err := s.Visits(ctx, Filter{})
	if err != nil {
		t.Fatal(err)
	}
	var said []string
	for _, step := range resultdiff.Histories(visits)["cuda/vec"] {
		verdicts := map[resultdiff.SpeedVerdict]int{}
		for _, r := range step.Ratios {
			verdicts[r.SpeedVerdict]++
		}
		line := fmt.Sprintf("%s %s %v", step.Started.Format("Jan"), step.Source, step.Changed)
		for what, n := range map[string]int{
			"wrong": step.BecameWrong, "right": step.BecameRight,
		} {
			if n > 0 {
				line += fmt.Sprintf(" %d became %s", n, what)
			}
		}
		for _, verdict := range []resultdiff.SpeedVerdict{resultdiff.Slower, resultdiff.Faster} {
			if verdicts[verdict] > 0 {
				line += fmt.Sprintf(" %d %s", verdicts[verdict], verdict)
			}
		}
		if step.Alike > 0 {
			line += fmt.Sprintf(" then %d alike", step.Alike)
		}
		said = append(said, line)
	}
	want := []string{
		"Jan a [] then 1 alike", "Mar b [source] then 1 alike",
		fmt.Sprintf("May c [source] %d became wrong", cases),
		fmt.Sprintf("Jun d [source] %d became right then 1 alike", cases),
		fmt.Sprintf("Aug e [source] %d SLOWER", cases), fmt.Sprintf("Sep d [source] %d FASTER", cases),
		"Oct d [torch 2.10.0 -> 2.11.0]", "Nov d [driver 570 -> 580]", "Dec d []",
	}
	if diff := cmp.Diff(want, said); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDifferencesOfARecordedYear(t *testing.T) {
	path, cases := recordedYear(t)
	s := openTest(t, path, Options{ReadOnly: true})
	counts := func(a, b Selection) resultdiff.Count {
		var sides [2]resultdiff.Side
		for i, sel := range []Selection{a, b} {
			var err error
			if sides[i], err = s.Side(ctx, fmt.Sprint("side ", i), sel); err != nil {
				t.Fatal(err)
			}
		}
		return resultdiff.Counted(resultdiff.Diff(sides[0], sides[1], resultdiff.Options{}))
	}
	of := func(number int) Selection { return Selection{Last: 13 - number} } // the session of a month
	for _, c := range []struct {
		name         string
		a, b         Selection
		wrong, right int
		slower       int
		faster       int
		regressed    bool
	}{
		{"a new source", of(2), of(3), 0, 0, 0, 0, false},
		{"became wrong", of(4), of(5), cases, 0, 0, 0, true},
		{"became right", of(5), of(6), 0, cases, 0, 0, false},
		{"slower", of(7), of(8), 0, 0, cases, 0, true},
		{"faster", of(8), of(9), 0, 0, 0, cases, false},
		{"across the faults", of(1), of(12), 0, 0, 0, 0, false},
		{
			"before June",
			Selection{Before: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC)},
			of(12),
			0, cases, 0, 0, false,
		},
	} {
		got, back := counts(c.a, c.b), counts(c.b, c.a)
		wrong, right := resultdiff.BecameWrong, resultdiff.BecameRight
		if got.Outcomes[wrong] != c.wrong || got.Outcomes[right] != c.right ||
			got.SpeedVerdicts[resultdiff.Slower] != c.slower ||
			got.SpeedVerdicts[resultdiff.Faster] != c.faster ||
			got.Regressed(false) != c.regressed {
			t.Errorf("%s: %+v", c.name, got)
		}
		if back.Outcomes[right] != c.wrong || back.Outcomes[wrong] != c.right ||
			back.SpeedVerdicts[resultdiff.Faster] != c.slower ||
			back.SpeedVerdicts[resultdiff.Slower] != c.faster {
			t.Errorf("%s, swapped: %+v", c.name, back)
		}
	}
}
