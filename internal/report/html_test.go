package report

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/resultdiff"
)

// pageText returns a page without its style sheet and scripts.
func pageText(t *testing.T, p Page) string {
	t.Helper()
	var text strings.Builder
	if err := HTML(&text, p); err != nil {
		t.Fatal(err)
	}
	page := regexp.MustCompile(`(?s)<style>.*?</style>|<script>.*?</script>`).
		ReplaceAllString(text.String(), "")
	addresses := regexp.MustCompile(`(?:src|href|action)="([^"]*)"`).FindAllStringSubmatch(page, -1)
	for _, address := range addresses {
		if !strings.HasPrefix(address[1], "#") && address[1] != "data:," && !p.Linked {
			t.Errorf("the page asks for %s", address[1])
		}
	}
	return page
}

// TestAnswerOfAPage: a page of records begins with which implementations are wrong, or that none is.
func TestAnswerOfAPage(t *testing.T) {
	right := []record.Record{
		softmax(1, "cuda/a", "fp32", 7, op.StatusPass), softmax(2, "cuda/b", "fp32", 7, op.StatusPass),
	}
	bad := softmax(3, "cuda/b", "bf16", 9, op.StatusFail)
	for _, c := range []struct {
		records []record.Record
		says    string
		wrong   bool
	}{
		{right, "nothing is wrong in 2 runs of 2 implementations; 2 are good.", false},
		{append(right, bad), "1 of 2 implementations is wrong: cuda/b in 1 of 2 runs (FAIL).", true},
		{nil, "Nothing is recorded.", false},
		{[]record.Record{softmax(1, "cuda/a", "fp32", 7, op.StatusUnsupported)}, "nothing was proven", false},
	} {
		answer, wrong := Page{Records: c.records}.answer()
		if wrong != c.wrong || !strings.Contains(answer[0], c.says) {
			t.Errorf("%q, wrong %v; want %q", answer, wrong, c.says)
		}
		pageText(t, Page{Subject: "x", Records: c.records})
	}
	p := Page{Subject: "x", Records: append(right, bad), Made: time.Unix(0, 0)}
	if text := pageText(t, p); !strings.Contains(text, `id="wrong"`) ||
		!strings.Contains(text, `class="answer bad"`) {
		t.Error("a page with a wrong run does not say so")
	}
}

// TestPageOfAComparison: a comparison says what became wrong, and with its sides swapped what became right.
func TestPageOfAComparison(t *testing.T) {
	side := func(name string, status op.Status) resultdiff.Side {
		r := softmax(1, "cuda/a", "fp32", 7, status)
		return resultdiff.Side{Name: name, Words: name, Entries: []resultdiff.Entry{{
			Case: r.Case, CaseKey: "1", Impl: r.Impl, Status: status, Conditions: &resultdiff.Conditions{},
		}}}
	}
	a, b := side("A", op.StatusPass), side("B", op.StatusFail)
	for says, d := range map[string]PageDiff{
		"B is worse than A: 1 became wrong.": {a, b, resultdiff.Diff(a, b, resultdiff.Options{})},
		"Nothing became wrong or slower.":    {b, a, resultdiff.Diff(b, a, resultdiff.Options{})},
	} {
		text := pageText(t, Page{Subject: "A to B", Diff: &d})
		if !strings.Contains(text, says) ||
			strings.Contains(text, "Became wrong") != strings.HasPrefix(says, "B") {
			t.Errorf("lacks %q or its table", says)
		}
	}
}

// TestRatiosBesidePeers: every kind of figure is named, and the ratio of two runs is inverted if it was
// measured the other way.
func TestRatiosBesidePeers(t *testing.T) {
	own, other := softmax(
		1,
		"cuda/a",
		"fp32",
		7,
		op.StatusPass,
	), softmax(
		2,
		"torch/b",
		"fp32",
		7,
		op.StatusPass,
	)
	for i, r := range []*record.Record{&own, &other} {
		r.Timings = []record.Timing{{
			Regime: "cold", Status: op.StatusPass, MedianNS: float64(100 * (i + 1)), Bytes: 10, FLOPs: 10,
		}}
	}
	p := Page{Records: []record.Record{own, other}, Sessions: []record.Measured{{
		Comparisons: []record.Comparison{{
			RunA: other.ID, RunB: own.ID, A: other.Impl, B: own.Impl, Regime: "cold", Ratio: 2,
			Low: 1.6, High: 2.5,
			Word: "SLOWER",
		}},
	}}}
	rows := p.peerRows()
	if len(rows) != 1 || rows[0].Cells[6].Words != "0.500 [0.400, 0.625]" {
		t.Fatalf("%+v", rows)
	}
	p.Sessions = nil
	if got := p.peerRows()[0].Cells[6].Words; got != "0.500 of the medians" {
		t.Errorf("without a comparison: %q", got)
	}
	for _, f := range Figures(p) {
		if !strings.Contains(strings.Join(FigureKinds, " "), f.Kind) {
			t.Errorf("%q is no kind", f.Kind)
		}
	}
}

// TestTimesOfOneGPU: times of two GPUs are not compared: the page shows those of the GPU that was timed last,
// and says so.
func TestTimesOfOneGPU(t *testing.T) {
	timed := func(n int, impl, session string, median float64) record.Record {
		r := softmax(n, impl, "fp32", 7, op.StatusPass)
		r.ID, r.Session = impl, session
		r.Timings = []record.Timing{{Status: op.StatusPass, MedianNS: median, N: 20}}
		return r
	}
	old, now := timed(1, "cuda/a", "S1", 10), timed(2, "torch/b", "S2", 12)
	p := Page{Records: []record.Record{old, now}}
	for id, gpu := range map[string]string{"S1": "NVIDIA H100", "S2": "NVIDIA H200"} {
		s := record.Session{ID: id}
		s.Machine.GPU = gpu
		p.Sessions = append(p.Sessions, record.Measured{Session: s})
	}
	answer, _ := p.answer()
	text := strings.Join(answer, "\n")
	if !strings.Contains(text, "Times are those of NVIDIA H200; 1 timed run on another GPU") ||
		strings.Contains(text, "then") || strings.Contains(text, "cuda/a, 10") {
		t.Error(text)
	}
	if len(old.Timings) != 1 || len(p.Records[0].Timings) != 1 {
		t.Error("the records themselves lost their times")
	}
}

// TestAPageHasTheDiagnosis: a page of wrong runs begins with their diagnosis, if there is one.
func TestAPageHasTheDiagnosis(t *testing.T) {
	r := record.Record{ID: "01X", Impl: "mine/a.cu", Status: op.StatusFail, Diagnosis: &record.Diagnosis{
		Status: op.StatusFail, Message: "y[0] is NaN", Repeat: "triad compare",
		Findings: []record.Finding{{Text: "1. read of memory that nobody has written\n   a.cu:8: read\n"}},
	}}
	p := Page{Records: []record.Record{r}}
	section := p.wrongSection()
	if len(section.Blocks) < 3 || !strings.Contains(section.Blocks[0].Words, "mine/a.cu") ||
		!strings.Contains(section.Blocks[1].Code, "a.cu:8: read") {
		t.Errorf("%+v", section.Blocks)
	}
}
