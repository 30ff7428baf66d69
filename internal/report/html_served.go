package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// served returns the beginning of a served page.
func served(title, database string, now time.Time, answer ...string) document {
	return document{
		Title: title, Answer: answer, Database: clean(database),
		Made: now.UTC().Format("2006-01-02 15:04:05") + " UTC",
	}
}

// SessionsDocument lists sessions and the operators with recorded runs. after says that newer sessions stand
// on another page; older is the address of the next page, "" if there is none.
func SessionsDocument(
	all []record.SessionCount, after bool, older string, operators []string, database string, now time.Time,
) Document {
	p := Page{Linked: true}
	d := served("Sessions", database, now, sessionsWords(len(all), after, older != ""))
	var links []navLink
	for _, name := range operators {
		links = append(links, navLink{"/op/" + name, name})
	}
	if len(links) > 0 {
		d.Sections = append(d.Sections, htmlSection{
			ID: "operators", Title: "Operators", Blocks: []htmlBlock{{Links: links}},
		})
	}
	var rows []htmlRow
	for _, c := range all {
		weight := "good"
		if c.Bad > 0 {
			weight = "bad"
		}
		state := c.State
		if !c.Session.Ended.IsZero() {
			state = fmt.Sprintf("exit %d", c.Session.Exit)
		}
		line := row(weight, c.Session.ID, c.Session.Started.UTC().Format("2006-01-02 15:04"), state,
			fmt.Sprint(c.Good), fmt.Sprint(c.Neutral), fmt.Sprint(c.Bad), fmt.Sprint(c.Timed),
			short(c.Session.Commit, 9), cmp.Or(c.Session.Machine.GPU, c.Session.Machine.CPU),
			"triad "+strings.Join(c.Session.Command, " "))
		line.Cells[0] = p.sessionCell(c.Session.ID)
		rows = append(rows, line)
	}
	if len(rows) > 0 {
		s := htmlSection{
			ID: "sessions", Title: "Sessions", Filter: true,
			Blocks: []htmlBlock{tableOf("Sessions, newest first",
				[]string{
					"session", "started (UTC)", "state", ">good", ">neutral", ">bad", ">timed", "commit",
					"machine",
					"command",
				}, rows)},
		}
		if older != "" {
			s.Blocks = append(s.Blocks, htmlBlock{Link: &navLink{older, "Older sessions"}})
		}
		d.Sections = append(d.Sections, s)
	}
	return Document{d}
}

// sessionsWords says which sessions a page lists.
func sessionsWords(n int, after, before bool) string {
	switch {
	case n == 0 && after:
		return "No session is older."
	case n == 0:
		return "No session is recorded: triad compare OP runs and records one."
	case after:
		return fmt.Sprintf("%s, older than those on the page before, newest first.", counted(n, "session"))
	case !before:
		return fmt.Sprintf("%s, newest first.", counted(n, "session"))
	}
	return fmt.Sprintf("The newest %s.", counted(n, "session"))
}

// FailureDocument returns the page that says why there is no other.
func FailureDocument(why, database string, now time.Time) Document {
	d := served("No page", database, now, clean(why))
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

// words says which runs these are.
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
	d.Form = runsForm(list.Asked, list.Operators, list.DTypes)
	var rows []htmlRow
	for _, r := range list.Records {
		g := group{records: []record.Record{r}}
		headroom, ulp := g.measures()
		median := ""
		if len(r.Timings) > 0 && usableTime(r.Timings[0]) {
			median = Duration(r.Timings[0].MedianNS)
		}
		line := row(
			weightOf(r.Status),
			r.ID,
			r.Started.UTC().Format("2006-01-02 15:04"),
			r.Case.Op,
			r.Case.Pass.String(),
			r.Case.DType,
			r.Impl,
			r.Status.String(),
			figure(headroom),
			figure(ulp),
			median,
			r.Device,
			caseWords(r.Case),
		)
		line.Cells[0], line.Cells[6].Weight = p.runCell(r.ID), weightOf(r.Status)
		rows = append(rows, line)
	}
	if len(rows) > 0 {
		s := htmlSection{
			ID:     "runs",
			Title:  "Runs",
			Filter: true,
			Blocks: []htmlBlock{tableOf("Runs", []string{
				"run", "started (UTC)", "op", "pass", "dtype", "implementation", "status", ">headroom",
				">max ulp",
				">median", "device", "case",
			}, rows)},
		}
		for _, l := range []navLink{{list.Newest, "The newest runs"}, {list.Older, "Older runs"}} {
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
		{"op", "operator", asked.Op, operators},
		{"impl", "implementation begins with", asked.Impl, nil},
		{"dtype", "dtype", asked.DType, dtypes},
		{"pass", "pass", asked.Pass, []string{op.Forward.String(), op.Backward.String()}},
		{"status", "status", asked.Status, append([]string{"bad"}, statuses...)},
		{"since", "since (2h, 7d, 2026-01-31)", asked.Since, nil},
		{"session", "session", asked.Session, nil},
	}}
}

// RunDocument shows everything about one run, and the command that repeats it.
func RunDocument(run record.Run, past Past, database string, now time.Time) Document {
	r := run.Record
	p := Page{Linked: true, Records: []record.Record{r}, Sessions: []record.Measured{{Session: run.Session}}}
	words := fmt.Sprintf("%s: %s/%s %s %s on %s.", r.Status, r.Case.Op, r.Impl, r.Case.Pass, r.Case.DType,
		caseWords(r.Case))
	if r.Status == op.StatusUnknown {
		words = "Still running, or its process was killed: " + words
	}
	d := served("Run "+r.ID, database, now, words)
	if d.Bad = r.Status.Weight() == op.Bad && r.Status != op.StatusUnknown; d.Bad {
		d.Answer = append(d.Answer, wrongWords(r))
	}
	d.Sections = append(d.Sections, p.factsSection(run))
	for _, s := range []htmlSection{
		p.wrongSection(), p.errorSection(), p.timeSection(), p.elementSection(), p.pastSection(past),
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
	fact("where", whereWords(r.Where))
	fact("case", caseWords(r.Case)+" (key "+r.Case.Key()+")")
	fact("tensors", dtypeWords(r.DTypes))
	fact("layout", r.Case.Layout)
	fact("seed", fmt.Sprint(r.Seed))
	fact("contract", r.Contract)
	fact("device", r.Device)
	fact("source", r.Source)
	fact("flags", clean(r.Flags))
	fact("build", buildWords(r.Build))
	for _, t := range r.Timings {
		fact("timed, "+t.Regime, timingWords(t))
	}
	fact("started", r.Started.UTC().Format(time.RFC3339))
	session := row("", "session")
	session.Cells = append(session.Cells, p.sessionCell(r.Session))
	rows = append(rows, session)
	s := htmlSection{ID: "run", Title: "Run", Blocks: []htmlBlock{
		tableOf("What was run", []string{"", ""}, rows),
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
			figure(v.Headroom),
			figure(v.ULPMax),
			v.Message,
		)
		line.Cells[1].Weight = weightOf(v.Status)
		rows = append(rows, line)
	}
	if len(rows) > 0 {
		s.Blocks = append(s.Blocks, tableOf("Outputs", []string{
			"output", "status", "gate", ">compared", ">wrong", ">headroom", ">max ulp", "what it says",
		}, rows))
	}
	if r.LogTail != "" {
		s.Blocks = append(s.Blocks, htmlBlock{More: &htmlMore{
			Title: "End of the worker's log", Blocks: []htmlBlock{{Code: cleanLines(r.LogTail, "")}},
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
		headroom, _ := group{records: []record.Record{r}}.measures()
		line := row(weightOf(r.Status), r.ID, r.Started.UTC().Format("2006-01-02 15:04"), r.Status.String(),
			figure(headroom), short(r.Source, 8), r.Device)
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
				"run", "started (UTC)", "status", ">headroom", "source", "device",
			}, rows),
		}
	}
	if past.Older != "" {
		s.Blocks = append(s.Blocks, htmlBlock{Link: &navLink{past.Older, "Older runs"}})
	}
	return s
}

// FindingsDocument lists the documented faults of libraries' rows, and the newest wrong runs.
func FindingsDocument(
	all []OperatorFindings, wrong []record.Record, database string, now time.Time,
) Document {
	d := served("Findings", database, now, "What triad found in kernels of libraries, and which newest runs "+
		"are wrong here.")
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

// DiffDocument compares two sides, or asks for them if p is nil; why says why they cannot be compared.
func DiffDocument(p *Page, a, b, why, database string, now time.Time) Document {
	d := served(
		"Compare",
		database,
		now,
		cmp.Or(clean(why), "Name two sets of runs: the beginning of a session's "+
			"ID, last, last~1, commit:HASH, machine:TEXT or before:DATE."),
	)
	d.Bad = why != ""
	if p != nil {
		p.Linked = true
		d = p.document()
	}
	d.Form = &htmlForm{Action: "/diff", Button: "Compare", Fields: []htmlField{
		{"a", "A, before", a, nil}, {"b", "B, after", b, nil},
	}}
	return Document{d}
}

// WithProgress makes the page show how far its session is, as reported at address.
func (d Document) WithProgress(address string) Document {
	d.Live = address
	return d
}

// ProgressWords says how far a session is.
func ProgressWords(p record.Progress) string {
	words := fmt.Sprintf("%d of %s ended, %d bad.", p.Ended, counted(p.Planned, "run"), p.Bad)
	if p.At != "" {
		words += " Now " + clean(p.At) + "."
	}
	return words
}

// WithReason makes the page say why it shows nothing.
func (d Document) WithReason(why string) Document {
	d.Answer = append([]string{clean(why)}, d.Answer...)
	return d
}
