package report

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// Home is the first page of a server: the state of each implementation of each operator, and the newest
// sessions.
type Home struct {
	Standing []record.Standing
	Sessions []record.SessionCount // newest first
	After    bool                  // newer sessions stand on another page
	Older    string                // the address of the next page, "" if there is none
}

// HomeDocument shows the first page.
func HomeDocument(h Home, database string, now time.Time) Document {
	d := served("Home", database, now, sessionsWords(len(h.Sessions), h.After, h.Older != ""))
	d.Open = true
	if b := matrixOf(h.Standing, now); len(b.Table.Rows) > 0 && !h.After {
		d.Answer, d.Bad = standingWords(h.Standing)
		d.Open = false
		d.Sections = append(d.Sections, htmlSection{
			ID: "operators", Title: "Operators", Filter: true, Blocks: []htmlBlock{b},
		})
	}
	if rows := sessionRows(h.Sessions); len(rows) > 0 {
		s := htmlSection{
			ID: "sessions", Title: "Sessions", Filter: true,
			Words: sessionsWords(len(h.Sessions), h.After, h.Older != ""),
			Blocks: []htmlBlock{tableOf("Sessions, newest first", []string{
				"command", "verdict", ">wrong", ">good", ">neutral", ">timed", "started", "machine",
				"session",
			}, rows)},
		}
		if h.Older != "" {
			s.Blocks = append(s.Blocks, htmlBlock{Link: &navLink{Address: h.Older, Words: "Older sessions"}})
		}
		d.Sections = append(d.Sections, s)
	}
	return Document{d}
}

// sessionsWords describes the sessions that a page lists.
func sessionsWords(n int, after, before bool) string {
	switch {
	case n == 0 && after:
		return "No session is older."
	case n == 0:
		return "No session is recorded: triad FILE, or triad compare OP, runs and records one."
	case after:
		return fmt.Sprintf("%s, older than those on the page before, newest first.", counted(n, "session"))
	case !before:
		return fmt.Sprintf("%s, newest first.", counted(n, "session"))
	}
	return fmt.Sprintf("The newest %s.", counted(n, "session"))
}

// sessionTitle returns the command of a session.
func sessionTitle(s record.Session) string {
	return clean(strings.TrimSpace("triad " + record.CommandLine(s.Command)))
}

func sessionRows(all []record.SessionCount) []htmlRow {
	p := Page{Linked: true}
	var rows []htmlRow
	for _, c := range all {
		verdict, weight := sessionVerdict(c)
		timed := ""
		if c.Timed > 0 {
			timed = fmt.Sprint(c.Timed)
		}
		line := row(weight, sessionTitle(c.Session), verdict, fmt.Sprint(c.Bad), fmt.Sprint(c.Good),
			fmt.Sprint(c.Neutral), timed, minuteOf(c.Session.Started),
			cmp.Or(c.Session.Machine.GPU, c.Session.Machine.CPU))
		line.Cells[0].Link, line.Cells[0].Code = "/session/"+c.Session.ID, true
		line.Cells[1].Weight = weight
		if c.Bad > 0 {
			line.Cells[2].Weight = "bad"
		}
		line.Cells = append(line.Cells, p.sessionCell(c.Session.ID))
		line.Search += " " + strings.ToLower(c.Session.ID)
		rows = append(rows, line)
	}
	return rows
}

// sessionVerdict returns the conclusion of a session, and its weight.
func sessionVerdict(c record.SessionCount) (words, weight string) {
	switch {
	case c.Session.Ended.IsZero() && c.Bad > 0:
		return c.State + ", wrong", "bad"
	case c.Session.Ended.IsZero():
		return c.State, "neutral"
	case c.Session.Exit == 0:
		return "right", "good"
	case c.Session.Exit == 1:
		return "wrong, exit 1", "bad"
	}
	return fmt.Sprintf("exit %d", c.Session.Exit), "neutral"
}

// standingWords counts the wrong implementations in a sentence.
func standingWords(all []record.Standing) (words []string, wrong bool) {
	byImpl := standingOf(all)
	operators := map[string]bool{}
	var bads []string
	for _, s := range byImpl {
		operators[s.Op] = true
		if s.Weight() == op.Bad {
			bads = append(bads, s.Op+"/"+clean(s.Impl))
		}
	}
	total := fmt.Sprintf("%s of %s", counted(len(byImpl), "implementation"),
		counted(len(operators), "operator"))
	if len(bads) == 0 {
		return []string{"Nothing is wrong in the newest runs of " + total + "."}, false
	}
	const most = 5
	names := strings.Join(bads[:min(len(bads), most)], ", ")
	if more := len(bads) - most; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return []string{fmt.Sprintf("%d of %s %s wrong: %s.", len(bads), total, areOrIs(len(bads)), names)}, true
}

// standing is the newest state of one implementation of an operator.
type standing struct {
	record.Standing
	counts map[op.Status]int
}

// Weight is that of the status.
func (s standing) Weight() op.Weight { return s.Status.Weight() }

// standingOf joins the counts of each implementation, with the status that ranks highest. The operator that
// ran last comes first.
func standingOf(all []record.Standing) []standing {
	at := map[[2]string]int{}
	newest := map[string]time.Time{}
	var out []standing
	for _, s := range all {
		if s.Newest.After(newest[s.Op]) {
			newest[s.Op] = s.Newest
		}
		key := [2]string{s.Op, s.Impl}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, standing{s, map[op.Status]int{}})
		}
		x := &out[i]
		x.counts[s.Status] += s.Runs
		if rank(s.Status) > rank(x.Status) {
			x.Status = s.Status
		}
		if s.Newest.After(x.Newest) {
			x.Newest = s.Newest
		}
	}
	slices.SortStableFunc(out, func(a, b standing) int {
		return cmp.Or(newest[b.Op].Compare(newest[a.Op]), cmp.Compare(a.Op, b.Op),
			-cmp.Compare(rank(a.Status), rank(b.Status)), cmp.Compare(a.Impl, b.Impl))
	})
	return out
}

// families are the columns of the matrix: the beginnings of names of implementations, and what they are
// called; the last one takes all others.
var families = []struct{ begins, name string }{
	{"mine/", "yours"}, {"cuda/", "CUDA"}, {"triton/", "Triton"}, {"torch/", "torch"}, {"", "others"},
}

func familyOf(impl string) int {
	return slices.IndexFunc(families, func(f struct{ begins, name string }) bool {
		return strings.HasPrefix(impl, f.begins)
	})
}

// mostChips limits the implementations that a cell of the matrix names.
const mostChips = 8

// matrixOf makes the matrix of operators and implementations, each with its verdict and the day of its newest
// run.
func matrixOf(all []record.Standing, now time.Time) htmlBlock {
	byOp := map[string][][]standing{}
	var order []string
	used := make([]bool, len(families))
	for _, s := range standingOf(all) {
		if byOp[s.Op] == nil {
			byOp[s.Op] = make([][]standing, len(families))
			order = append(order, s.Op)
		}
		f := familyOf(s.Impl)
		byOp[s.Op][f] = append(byOp[s.Op][f], s)
		used[f] = true
	}
	names := []string{"operator"}
	for f, is := range used {
		if is {
			names = append(names, families[f].name)
		}
	}
	var rows []htmlRow
	for _, operator := range order {
		line := row("good", operator)
		line.Cells[0].Link = "/op/" + operator
		for f, is := range used {
			if is {
				cell := chipsOf(byOp[operator][f], families[f].begins, now)
				line.Cells = append(line.Cells, cell)
				for _, c := range cell.Chips {
					line.Search += " " + strings.ToLower(c.Words)
				}
			}
		}
		if slices.ContainsFunc(slices.Concat(byOp[operator]...), func(s standing) bool {
			return s.Weight() == op.Bad
		}) {
			line.Weight = "bad"
		}
		rows = append(rows, line)
	}
	return tableOf("The newest verdict on each implementation; the operator that ran last comes first", names,
		rows)
}

// chipsOf returns a cell of the matrix.
func chipsOf(all []standing, family string, now time.Time) htmlCell {
	var c htmlCell
	var newest time.Time
	for i, s := range all {
		if s.Newest.After(newest) {
			newest = s.Newest
		}
		if i >= mostChips {
			continue
		}
		chip := htmlChip{
			Words: clean(strings.TrimPrefix(s.Impl, family)), Mark: "✓", Weight: weightOf(s.Status),
			Link: "/runs?" + url.Values{"op": {s.Op}, "impl": {s.Impl}}.Encode(),
		}
		switch s.Weight() {
		case op.Bad:
			chip.Mark = "✗"
			chip.Words += fmt.Sprintf(" %v %d", s.Status, s.bad())
		case op.Neutral:
			chip.Mark = "·"
			chip.Words += " " + strings.ToLower(strings.ReplaceAll(s.Status.String(), "_", " "))
		}
		c.Chips = append(c.Chips, chip)
	}
	if more := len(all) - mostChips; more > 0 {
		c.Chips = append(c.Chips, htmlChip{
			Words: fmt.Sprintf("%d more", more), Mark: "+", Link: "/op/" + all[0].Op, Weight: "neutral",
		})
	}
	if !newest.IsZero() {
		c.Note = dayOf(newest, now)
	}
	return c
}

func (s standing) bad() (n int) {
	for status, k := range s.counts {
		if status.Weight() == op.Bad {
			n += k
		}
	}
	return n
}
