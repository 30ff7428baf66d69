package run

import (
	"encoding/json"
	"strings"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/report"
)

// TestRecordsKeepStatistics: a record keeps for each judged output what a new verdict needs, through JSON as
// well; if no value was judged it keeps nothing.
func TestRecordsKeepStatistics(t *testing.T) {
	kept := &memory{}
	if _, err := compare(t, kept, nil, fakes(map[string]way{
		"fake/right": right, "fake/zeros": zeros,
		"fake/unwritten": unwritten,
	})); err != nil {
		t.Fatal(err)
	}
	digests := map[string]bool{}
	for _, r := range kept.records {
		v := r.Outputs[0]
		if r.Impl == "fake/unwritten" {
			if v.Statistics != nil {
				t.Errorf("%s was never written and keeps %+v", r.Impl, v.Statistics)
			}
			continue
		}
		s := v.Statistics
		if s == nil {
			t.Fatalf("%s keeps nothing", r.Impl)
		}
		counted := int64(0)
		for _, n := range s.ULPs {
			counted += n
		}
		if len(s.Digest) != 64 || s.Contract != "fp32" || s.Promise == "" || s.DType != op.FP32 ||
			counted != v.NCompared || len(s.Worst) != 16 ||
			!s.Independent || len(s.Blocks) == 0 || s.NBlocks < len(s.Blocks) || s.Slope == nil {
			t.Errorf("%s keeps %+v", r.Impl, s)
		}
		if right := r.Impl == "fake/right"; right != (v.ErrorMargin != nil) ||
			right && float64(s.Used) != 1/float64(*v.ErrorMargin) {
			t.Errorf("%s has error margin %v and used %v: what is rejected has no error margin", r.Impl,
				v.ErrorMargin,
				s.Used)
		}
		if r.Impl == "fake/right" != (s.Map == nil) {
			t.Errorf("%s keeps the map %+v: what is rejected has one, and nothing else", r.Impl, s.Map)
		}
		checkMap(t, v)
		digests[s.Digest] = true
		if got, want := againOf(t, r, judge.Version), ""; got != want {
			t.Errorf("%s under its own version: %q", r.Impl, got)
		}
		want := map[string]string{
			"fake/right": "y: judged by version 2; by version " + judge.Version +
				" undecided: error bounds are smaller, and the largest error is ",
			"fake/zeros": "y: judged by version 2; by version " + judge.Version + " FAIL G2: y[",
		}[r.Impl]
		if got := againOf(t, r, "2"); !strings.HasPrefix(got, want) {
			t.Errorf("%s under version 2: %q, want %q", r.Impl, got, want)
		}
		if got := againOf(t, r, "1"); r.Impl == "fake/right" && !strings.Contains(got, "undecided: ") {
			t.Errorf("%s under version 1: %q", r.Impl, got)
		}
	}
	if len(digests) != 2 {
		t.Errorf("two different outputs have %d digests", len(digests))
	}
}

// checkMap checks that the map of an output adds up to its verdict.
func checkMap(t *testing.T, v record.Verdict) {
	t.Helper()
	m := v.Statistics.Map
	if m == nil {
		return
	}
	compared, wrong := int64(0), int64(0)
	for i := range m.Most {
		compared, wrong = compared+m.Compared[i], wrong+m.Wrong[i]
		if (m.Most[i] > 1) != (m.Wrong[i] > 0) {
			t.Errorf("cell %d: %d wrong, and the most is %v", i, m.Wrong[i], m.Most[i])
		}
	}
	if compared != v.NCompared || wrong != v.NWrong || len(m.Most) != m.Down*m.Across {
		t.Errorf("a map of %d elements, %d of them wrong: %+v", compared, wrong, m)
	}
}

// againOf returns the line of results show with the present verdict on a record that the given version of the
// judge had judged.
func againOf(t *testing.T, r record.Record, version string) string {
	t.Helper()
	text, err := json.Marshal(r.Outputs)
	if err != nil {
		t.Fatal(err)
	}
	r.Outputs = nil
	if err := json.Unmarshal(text, &r.Outputs); err != nil {
		t.Fatal(err)
	}
	r.Outputs[0].Judge = version
	var shown strings.Builder
	if err := report.Show(&shown, report.Style{}, record.Run{Record: r}); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(shown.String()) {
		if strings.Contains(line, "judged by version") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}
