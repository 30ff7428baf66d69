package report

import (
	"math"
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
			SpeedVerdict: "SLOWER",
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

// TestAPageHasTheDiagnosis: a page of wrong runs begins with the cause and its line, then shows the source
// with that line marked, the smallest wrong case and the command that repeats it. No text becomes markup.
func TestAPageHasTheDiagnosis(t *testing.T) {
	r := softmax(1, "mine/a.cu", "fp32", 7, op.StatusFail)
	r.Diagnosis = &record.Diagnosis{
		Dims: record.Members[int64]{{Name: "rows", Value: 1}}, Distribution: "normal", Status: op.StatusFail,
		Message: "y[0] is NaN", Repeat: "triad compare <x>", Advice: "fill it",
		Findings: []record.Finding{{Text: "1. read of memory that nobody has written\n   a.cu:8: read\n"}},
		Causes:   []record.Cause{{Line: 8, Text: "nobody wrote <b>it</b>"}, {Text: "a second cause"}},
		Source: &record.Excerpt{
			File: "/x/a.cu", First: 7, Lines: []string{"{", "\tread <i>(x);", "}"}, Marked: []int{8},
		},
	}
	p := Page{Command: "triad compare softmax --add a.cu", Records: []record.Record{r}}
	if answer, wrong := p.answer(); !wrong || answer[0] != "a.cu: line 8: nobody wrote <b>it</b>." {
		t.Errorf("it begins with %q", answer[0])
	}
	text := pageText(t, p)
	for _, want := range []string{
		"<code>triad compare softmax --add a.cu</code></h1>", "a second cause", "rows=1 normal",
		"y[0] is NaN",
		"triad compare &lt;x&gt;", "a.cu:8: read", `<li class="marked"><span class="number">8</span>` +
			"<code>    read &lt;i&gt;(x);</code><strong>nobody wrote &lt;b&gt;it&lt;/b&gt;</strong></li>",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q", want)
		}
	}
	if strings.Contains(text, "<b>") || strings.Contains(text, "<i>") {
		t.Error("text of a file became markup")
	}
	r.Diagnosis = &record.Diagnosis{Status: op.StatusFail, Message: "NaN", Advice: "fill it. Then run"}
	if answer, _ := (Page{Records: []record.Record{r}}).answer(); answer[0] != "a.cu: fill it." {
		t.Errorf("of an older diagnosis: %q", answer[0])
	}
}

// TestWordsOfACell: what is neutral is not taken for a failure.
func TestWordsOfACell(t *testing.T) {
	pass, declined, powerless := op.StatusPass, op.StatusUnsupported, op.StatusNoPower
	for want, all := range map[string][]op.Status{
		"PASS 2":                              {pass, pass},
		"PASS 1, 2 not taken":                 {pass, declined, op.StatusMissing},
		"PASS 1, 1 not taken, 1 cannot tell":  {pass, declined, powerless},
		"FAIL 1 of 3":                         {pass, declined, op.StatusFail},
		"UNSUPPORTED 2":                       {declined, declined},
		"UNSUPPORTED":                         {declined},
		"KNOWN 2, 1 good, 1 not taken":        {op.StatusKnown, pass, op.StatusKnown, declined},
		"DIFFERENT_CONTRACT 1, 1 cannot tell": {op.StatusDifferentContract, powerless},
	} {
		var g group
		for i, s := range all {
			g.records = append(g.records, softmax(i, "cuda/a", "fp32", 7, s))
		}
		if got := g.verdict(); got != want {
			t.Errorf("%v: %q, want %q", all, got, want)
		}
	}
}

// TestErrorsAsAShareOfTheBound: 1 / error margin of what is accepted, else the largest share of the map or of
// the worst elements.
func TestErrorsAsAShareOfTheBound(t *testing.T) {
	inf, nan := record.Float(math.Inf(1)), record.Float(math.NaN())
	worst := func(got record.Float) *record.Statistics {
		return &record.Statistics{Worst: []record.Judged{{Got: got, R: 1, T: 2}}}
	}
	grid := &record.Map{Compared: []int64{1, 0}, Most: []record.Float{4, 9}}
	for want, v := range map[string]record.Verdict{
		"0.25":      {ErrorMargin: new(record.Float(4))},
		"0":         {ErrorMargin: &inf},
		"":          {NWrong: 1},
		"4":         {NWrong: 1, Statistics: &record.Statistics{Map: grid}},
		"3":         {NWrong: 1, Statistics: worst(7)},
		"no number": {NWrong: 1, Statistics: worst(nan)},
	} {
		if got := ofBoundWords(ofBound(v)); got != want {
			t.Errorf("%+v: %q, want %q", v, got, want)
		}
	}
}
