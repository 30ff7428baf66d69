package report

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// served returns the beginning of a served page.
func served(title, database string, now time.Time, answer ...string) document {
	return document{
		Title: title, Answer: answer, Database: clean(database),
		Made: secondOf(now),
	}
}

// FailureDocument returns an error page.
func FailureDocument(title, why, database string, now time.Time) Document {
	d := served(title, database, now, clean(why))
	d.Bad = true
	return Document{d}
}

// RunsAsked holds the filters of a list of runs, as they were typed.
type RunsAsked struct{ Op, Impl, DType, Pass, Status, Since, Session string }

// Runs is a page of a list of runs, newest first.
type Runs struct {
	Asked             RunsAsked
	Operators, DTypes []string // that can be asked for
	Records           []record.Record
	Total             int    // that fit
	Newer             int    // of these, the ones on pages before this one
	Newest, Older     string // addresses of other pages, "" where there are none
}

// words describes the selection of runs.
func (r Runs) words() string {
	switch n := len(r.Records); {
	case r.Total == 0:
		return "No run fits."
	case n == 0:
		return fmt.Sprintf("None of %s that fit is older.", counted(r.Total, "run"))
	case r.Newer > 0:
		return fmt.Sprintf("Runs %d to %d of %d, newest first.", r.Newer+1, r.Newer+n, r.Total)
	case r.Total > n:
		return fmt.Sprintf("The newest %d of %s.", n, counted(r.Total, "run"))
	}
	return fmt.Sprintf("%s, newest first.", counted(r.Total, "run"))
}

// RunsDocument lists runs.
func RunsDocument(list Runs, database string, now time.Time) Document {
	p := Page{Linked: true}
	d := served("Runs", database, now, list.words())
	d.Open = true
	d.Form = runsForm(list.Asked, list.Operators, list.DTypes)
	var rows []htmlRow
	for _, r := range list.Records {
		g := group{records: []record.Record{r}}
		median := ""
		if len(r.Timings) > 0 && usableTime(r.Timings[0]) {
			median = Duration(r.Timings[0].MedianNS)
		}
		line := row(
			weightOf(r.Status),
			r.ID,
			r.Case.Op+"/"+r.Impl,
			r.Case.Pass.String(),
			r.Case.DType,
			r.Status.String(),
			caseWords(r.Case),
			ofBoundWords(g.ofBound()),
			median,
			r.Device,
			minuteOf(r.Started),
		)
		line.Cells[0], line.Cells[4].Weight = p.runCell(r.ID), weightOf(r.Status)
		rows = append(rows, line)
	}
	if len(rows) > 0 {
		s := htmlSection{
			ID:     "runs",
			Title:  "Runs",
			Filter: true,
			Blocks: []htmlBlock{tableOf("Runs", []string{
				"run", "implementation", "pass", "dtype", "status", "case", ">" + ofBoundName, ">median",
				"device", "started",
			}, rows)},
		}
		for _, l := range []navLink{
			{Address: list.Newest, Words: "The newest runs"}, {Address: list.Older, Words: "Older runs"},
		} {
			if l.Address != "" {
				s.Blocks = append(s.Blocks, htmlBlock{Link: &l})
			}
		}
		d.Sections = append(d.Sections, s)
	}
	return Document{d}
}

// runsForm returns the form for another list of runs.
func runsForm(asked RunsAsked, operators, dtypes []string) *htmlForm {
	statuses := []string{}
	for _, s := range op.Statuses() {
		statuses = append(statuses, s.String())
	}
	return &htmlForm{Action: "/runs", Button: "Show", Fields: []htmlField{
		{Name: "op", Label: "operator", Value: asked.Op, Choices: operators},
		{Name: "impl", Label: "implementation begins with", Value: asked.Impl},
		{Name: "dtype", Label: "dtype", Value: asked.DType, Choices: dtypes},
		{
			Name: "pass", Label: "pass", Value: asked.Pass,
			Choices: []string{op.Forward.String(), op.Backward.String()},
		},
		{
			Name: "status", Label: "status", Value: asked.Status,
			Choices: append([]string{"bad"}, statuses...),
		},
		{Name: "since", Label: "since (2h, 7d, 2026-01-31)", Value: asked.Since},
		{Name: "session", Label: "session", Value: asked.Session},
	}}
}

// RunDocument shows everything about one run, and the command that repeats it.
func RunDocument(run record.Run, past Past, database string, now time.Time) Document {
	r := run.Record
	p := Page{Linked: true, Records: []record.Record{r}, Sessions: []record.Measured{{Session: run.Session}}}
	words := fmt.Sprintf("%s on %s.", r.Status, caseWords(r.Case))
	if r.Status == op.StatusUnknown {
		words = "Still running, or its process was killed: " + words
	}
	title := fmt.Sprintf("%s/%s %s %s", r.Case.Op, r.Impl, r.Case.Pass, r.Case.DType)
	d := served(clean(title), database, now, words)
	d.Open = r.Status == op.StatusUnknown || r.Status.Weight() == op.Neutral
	if d.Bad = r.Status.Weight() == op.Bad && r.Status != op.StatusUnknown; d.Bad {
		d.Answer = append(append(p.whyAnswer(), d.Answer...), wrongWords(r))
	}
	for _, s := range []htmlSection{
		p.whySection(), p.factsSection(run), p.wrongSection(), p.errorSection(), p.timeSection(),
		p.elementSection(), p.pastSection(past),
		p.environmentSection(),
	} {
		if len(s.Blocks) > 0 {
			d.Sections = append(d.Sections, s)
		}
	}
	return Document{d}
}

// factsSection shows what a run is, and how to run it again.
func (p Page) factsSection(run record.Run) htmlSection {
	r := run.Record
	var rows []htmlRow
	fact := func(name, words string) {
		if words != "" {
			rows = append(rows, row("", name, words))
		}
	}
	fact("message", r.Message)
	origin(r, fact)
	for _, t := range r.Timings {
		fact("timed, "+t.Regime, timingWords(t))
	}
	fact("started", secondOf(r.Started))
	fact("ID", r.ID)
	session := row("", "session")
	session.Cells = append(session.Cells, p.sessionCell(r.Session))
	rows = append(rows, session)
	s := htmlSection{ID: "run", Title: "Run", Blocks: []htmlBlock{
		factsOf("What was run", rows),
		{Words: "Run it again on the same bits:"},
		{Code: clean(record.Repeat(r, run.Session.Added))},
	}}
	rows = nil
	for _, v := range r.Outputs {
		line := row(
			weightOf(v.Status),
			v.Name,
			v.Status.String(),
			v.Gate,
			fmt.Sprintf("%d of %d", v.NCompared, v.N),
			fmt.Sprint(v.NWrong),
			ofBoundWords(ofBound(v)),
			v.Message,
		)
		line.Cells[1].Weight = weightOf(v.Status)
		rows = append(rows, line)
	}
	if len(rows) > 0 {
		s.Blocks = append(s.Blocks, tableOf("Outputs", []string{
			"output", "status", "gate", ">compared", ">wrong", ">" + ofBoundName, "what it says",
		}, rows))
	}
	if r.LogTail != "" {
		s.Blocks = append(s.Blocks, htmlBlock{More: &htmlMore{
			Title: "End of the worker's log", Blocks: []htmlBlock{{Text: cleanLines(r.LogTail, "")}},
		}})
	}
	return s
}

// Past holds runs of the same implementation on the same case, oldest first; Total counts all of them. Older
// is the address of earlier ones, "" if there are none.
type Past struct {
	Records []record.Record
	Total   int
	Older   string
}

// pastSection lists the runs of the same implementation on the same case.
func (p Page) pastSection(past Past) htmlSection {
	var rows []htmlRow
	for _, r := range past.Records {
		share := group{records: []record.Record{r}}.ofBound()
		line := row(weightOf(r.Status), r.ID, minuteOf(r.Started), r.Status.String(),
			ofBoundWords(share), short(r.Source, 8), r.Device)
		line.Cells[0], line.Cells[2].Weight = p.runCell(r.ID), weightOf(r.Status)
		rows = append(rows, line)
	}
	s := htmlSection{ID: "history", Title: "History"}
	if past.Total > len(rows) {
		s.Words = fmt.Sprintf("%d of %s.", len(rows), counted(past.Total, "run"))
	}
	if past.Total > 1 && len(rows) > 0 {
		s.Blocks = []htmlBlock{
			tableOf("Runs of the same implementation on the same case, oldest first", []string{
				"run", "started", "status", ">" + ofBoundName, "source", "device",
			}, rows),
		}
	}
	if past.Older != "" {
		s.Blocks = append(s.Blocks, htmlBlock{Link: &navLink{Address: past.Older, Words: "Older runs"}})
	}
	return s
}

// FindingsDocument lists the documented faults of libraries' rows, and the newest wrong runs.
func FindingsDocument(
	all []OperatorFindings, wrong []record.Record, database string, now time.Time,
) Document {
	d := served("Findings", database, now, "What triad found in kernels of libraries, and which newest runs "+
		"are wrong here.")
	d.Open = true
	var rows []htmlRow
	for _, o := range all {
		for _, f := range o.Findings {
			rows = append(
				rows,
				row("neutral", f.ID, o.Op, strings.Join(f.Implementations, ", "), f.Happens, f.Why,
					findingCases(f)),
			)
		}
	}
	if len(rows) > 0 {
		d.Sections = append(d.Sections, htmlSection{
			ID: "documented", Title: "Documented", Filter: true,
			Blocks: []htmlBlock{tableOf("Documented findings", []string{
				"finding", "op", "implementations", "what happens", "why", "covers",
			}, rows)},
		})
	}
	p := Page{Linked: true, Records: wrong}
	if s := p.wrongSection(); len(s.Blocks) > 0 {
		d.Sections = append(d.Sections, s)
	}
	return Document{d}
}

// DiffDocument compares two sides, or asks for them if p is nil; why says why they cannot be compared. newest
// are the sessions that are offered.
func DiffDocument(p *Page, a, b, why string, newest []record.SessionCount, database string, now time.Time,
) Document {
	d := served("Compare", database, now, cmp.Or(clean(why), "Which two sets of runs? The beginning of a "+
		"session's ID, last, last~1, commit:HASH, machine:TEXT or before:DATE."))
	d.Bad, d.Open = why != "", why == ""
	if p != nil {
		p.Linked = true
		d = p.document()
	}
	var offered []htmlOption
	for i, c := range newest {
		name := "last"
		if i > 0 {
			name = fmt.Sprintf("last~%d", i)
		}
		words := sessionTitle(c.Session) + ", " + minuteOf(c.Session.Started)
		offered = append(offered, htmlOption{name, words}, htmlOption{c.Session.ID, words})
	}
	if s := choicesSection(newest); p == nil && len(s.Blocks) > 0 {
		d.Sections = append(d.Sections, s)
	}
	d.Form = &htmlForm{Action: "/diff", Button: "Compare", Fields: []htmlField{
		{Name: "a", Label: "A, before", Value: cmp.Or(a, "last~1"), Offered: offered},
		{Name: "b", Label: "B, after", Value: cmp.Or(b, "last"), Offered: offered},
	}}
	return Document{d}
}

// choicesSection lists the newest sessions, each with a link that compares it with the newest one.
func choicesSection(newest []record.SessionCount) htmlSection {
	s := htmlSection{ID: "sessions", Title: "The newest sessions"}
	p := Page{Linked: true}
	var rows []htmlRow
	for i, c := range newest {
		verdict, weight := sessionVerdict(c)
		line := row(weight, sessionTitle(c.Session), verdict,
			minuteOf(c.Session.Started), "")
		line.Cells[0].Link, line.Cells[0].Code = "/session/"+c.Session.ID, true
		line.Cells[1].Weight = weight
		if i > 0 {
			line.Cells[3] = htmlCell{
				Words: "compare with last",
				Link:  "/diff?" + url.Values{"a": {c.Session.ID}, "b": {"last"}}.Encode(),
			}
		}
		rows = append(rows, line)
		rows[i].Cells = append(rows[i].Cells, p.sessionCell(c.Session.ID))
	}
	if len(rows) > 0 {
		s.Blocks = []htmlBlock{tableOf("Sessions that can be compared, newest first",
			[]string{"command", "verdict", "started", "as A", "session"}, rows)}
	}
	return s
}

// WithProgress makes the page show how far its session is, as reported at address. What is not over is not
// called right.
func (d Document) WithProgress(p record.Progress, address string) Document {
	d.Live = address
	words := "Still running: " + ProgressWords(p)
	if d.Open = !d.Bad; d.Open {
		d.Answer = []string{words + " None of them is wrong so far."}
		if p.Ended == 0 {
			d.Answer = []string{words}
		}
	} else {
		d.Answer = append(d.Answer, words)
	}
	return d
}

// ProgressWords describes the progress of a session.
func ProgressWords(p record.Progress) string {
	words := fmt.Sprintf("%d of %s ended, %d bad.", p.Ended, counted(p.Planned, "run"), p.Bad)
	if p.At != "" {
		words += " Now " + clean(p.At) + "."
	}
	return words
}

// WithReason adds the reason why the page is empty.
func (d Document) WithReason(why string) Document {
	d.Answer, d.Open = append([]string{clean(why)}, d.Answer...), true
	return d
}
