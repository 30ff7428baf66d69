package report

import (
	"strings"
	"testing"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// servedText returns a served page without its style sheet and scripts.
func servedText(t *testing.T, d Document, path string) string {
	t.Helper()
	var text strings.Builder
	if err := d.Serve(&text, "n", path); err != nil {
		t.Fatal(err)
	}
	page := text.String()
	return page[strings.Index(page, "<body>"):strings.Index(page, "<footer>")]
}

// TestHome: the first page has the verdict on each implementation of each operator with its day, the operator
// that ran last first, and the commands of the sessions, of which exit code 1 is wrong.
func TestHome(t *testing.T) {
	day := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	standing := func(operator, impl string, status op.Status, runs int, at time.Time) record.Standing {
		return record.Standing{Op: operator, Impl: impl, Status: status, Runs: runs, Newest: at}
	}
	const newest = "newest"
	session := func(id string, exit int, command ...string) record.SessionCount {
		s := record.Session{ID: id, Command: command, Exit: exit, Started: day, Ended: day}
		return record.SessionCount{Session: s, State: "complete", Bad: exit}
	}
	running := record.SessionCount{State: "running"}
	running.Session = record.Session{ID: "01C", Command: []string{"bench"}}
	d := HomeDocument(Home{
		Standing: []record.Standing{
			standing("older", "cuda/vec", op.StatusPass, 9, day.AddDate(0, 0, -3)),
			standing(newest, "mine/a.cu", op.StatusPass, 5, day),
			standing(newest, "mine/a.cu", op.StatusFail, 2, day),
			standing(newest, "torch/eager", op.StatusPass, 5, day),
			standing(newest, "liger/kernel", op.StatusUnsupported, 1, day),
		},
		Sessions: []record.SessionCount{
			running, session("01B", 1, "compare", "<b>"), session("01A", 0, "compare", "older"),
		},
	}, "r.db", day)
	text := servedText(t, d, "/")
	for _, want := range []string{
		"1 of 4 implementations of 2 operators is wrong: newest/mine/a.cu.", "a.cu FAIL 2</a>",
		"today 12:30",
		"2026-02-26", "liger/kernel unsupported", "triad compare &#39;&lt;b&gt;&#39;",
		`class="bad">wrong, exit 1<`,
		`class="good">right<`, `class="neutral">running<`, `<a href="/" aria-current="page">Home</a>`,
	} {
		if !strings.Contains(strings.ReplaceAll(text, ` whole" data-name="verdict"`, `"`), want) {
			t.Errorf("it lacks %q\n%s", want, text)
		}
	}
	if strings.Index(text, `"/op/newest"`) > strings.Index(text, `"/op/older"`) {
		t.Error("the operator that ran last is not the first")
	}
}

// TestARunningSessionIsNotCalledRight: while a session runs its page says how far it is.
func TestARunningSessionIsNotCalledRight(t *testing.T) {
	good := softmax(1, "cuda/a", "fp32", 7, op.StatusPass)
	bad := softmax(2, "cuda/a", "fp32", 9, op.StatusFail)
	p := record.Progress{State: "running", Planned: 9, Ended: 1}
	for class, records := range map[string][]record.Record{"open": {good}, "bad": {good, bad}} {
		text := servedText(t, Page{Records: records}.Document().WithProgress(p, "/live/1"), "/session/1")
		if !strings.Contains(text, `class="answer `+class+`"`) || strings.Contains(text, "othing is wrong") ||
			!strings.Contains(text, "1 of 9 runs ended") {
			t.Errorf("%d runs: %s", len(records), text[:900])
		}
	}
}

// TestReadJSONRows: rows come back in the order of their columns, numbers as numbers.
func TestReadJSONRows(t *testing.T) {
	names, rows := []string{"b", "a", "c"}, [][]any{{int64(1) << 60, "x\n", nil}, {1.5, "y", "inf"}}
	var text strings.Builder
	if err := JSONRows(&text, names, rows); err != nil {
		t.Fatal(err)
	}
	gotNames, got, err := ReadJSONRows(strings.NewReader(text.String()))
	if err != nil || strings.Join(gotNames, "") != "bac" || len(got) != 2 {
		t.Fatalf("%q %v, %v", gotNames, got, err)
	}
	for i, row := range rows {
		for k := range row {
			if got[i][k] != row[k] {
				t.Errorf("row %d: %#v, want %#v", i, got[i][k], row[k])
			}
		}
	}
}

// TestAResultOnAPage: a result has links to itself in other formats and to the pages of runs. Of many rows
// the first ones are shown.
func TestAResultOnAPage(t *testing.T) {
	const id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
	q := Query{
		Statement: "SELECT :a", Params: []QueryParam{{Name: "a", Value: "<x>"}}, Ran: true,
		Names: []string{"status", "run_ulid"}, Rows: [][]any{{"FAIL", id}},
	}
	text := servedText(t, QueryDocument(q, "r.db", time.Unix(0, 0)), "/query")
	for _, want := range []string{
		`href="/query.csv?p_a=%3Cx%3E&amp;sql=SELECT&#43;%3Aa"`, `href="/query.json?`,
		`<a href="/run/` + id + `">`,
		`>01ARZ3NDEK</code>`, `name="p_a" value="&lt;x&gt;"`, ">SELECT :a</textarea>", "1 row.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q\n%s", want, text)
		}
	}
	for range mostShownRows {
		q.Rows = append(q.Rows, q.Rows[0])
	}
	text = servedText(t, QueryDocument(q, "r.db", time.Unix(0, 0)), "/query")
	if n := strings.Count(text, `scope="row"`); n != mostShownRows || !strings.Contains(text, "1001 rows.") ||
		!strings.Contains(text, "CSV and JSON have all") {
		t.Errorf("%d rows are shown", n)
	}
}

// TestFilesOnAPage: a file that is right has a tick, a wrong one its source with the marked line; one that is
// being looked at has neither.
func TestFilesOnAPage(t *testing.T) {
	p := LookedAt{Working: true, Files: []FileShown{
		{Name: "a.cu", Done: true, Verdict: "RIGHT", Weight: "good", Text: "9 cases", Source: "ok();\n"},
		{
			Name: "b.cu", Done: true, Verdict: "WRONG", Weight: "bad", Text: "line 2: <i>",
			Source: "{\n<u>;\n}\n", Causes: []record.Cause{{Line: 2, Text: "<i>"}},
		},
		{Name: "c.cu"},
	}}
	text := servedText(t, FilesDocument(p, "/new", "7", time.Unix(0, 0)), "/")
	for _, want := range []string{
		`<span class="mark good" aria-hidden="true">✓</span> a.cu`,
		`<span class="mark bad" aria-hidden="true">✗</span> b.cu`,
		`<li class="marked"><span class="number">2</span><code>&lt;u&gt;;</code><strong>&lt;i&gt;</strong>`,
		"being looked at", `data-update="/new" data-state="7"`, "Looking: 2 of 3 files done.",
		"1 file wrong, 1 right.",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("it lacks %q\n%s", want, text)
		}
	}
	if strings.Contains(text, "<u>") || strings.Contains(text, "<nav") {
		t.Error("text of a file became markup, or the page links to others")
	}
}
