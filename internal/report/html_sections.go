package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/record"
	"triad/internal/resultdiff"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// errorSection shows how large the errors are.
func (p Page) errorSection() htmlSection {
	s := htmlSection{ID: "errors", Title: "How large the errors are"}
	for _, f := range p.errorFigures() {
		s.Blocks = append(s.Blocks, htmlBlock{Figure: f.html()})
	}
	return s
}

// timeSection shows times: figures, then a table for each case, and a comparison of the own implementations
// with the best of others.
func (p Page) timeSection() htmlSection {
	s := htmlSection{ID: "times", Title: "Times", Filter: true}
	for _, f := range slices.Concat(p.rooflineFigures(), p.timeFigures(), p.ratioFigures()) {
		s.Blocks = append(s.Blocks, htmlBlock{Figure: f.html()})
	}
	if rows := p.peerRows(); len(rows) > 0 {
		s.Blocks = append(s.Blocks, tableOf("The fastest of triad's and your own beside the best of others",
			[]string{"case", "regime", "own", ">median", "best of others", ">median", ">own / best"}, rows))
	}
	compared := p.comparisons()
	for _, point := range points(p.timed()) {
		var rows []htmlRow
		for _, l := range point.lines(compared) {
			cells := append([]string{l.impl, l.status.String(), l.compared}, l.cells()...)
			line := row(weightOf(l.status), cells...)
			line.Cells[1].Weight = weightOf(l.status)
			rows = append(rows, line)
		}
		s.Blocks = append(s.Blocks, tableOf(point.title(), []string{
			"implementation", "status", ">compared", "regime", ">median", ">interval", ">rate", ">roofline",
			">ratio", "speed", ">clock", ">occupancy", "note",
		}, rows))
	}
	for _, m := range p.Sessions {
		if words := ceilingWords(m.Ceilings); words != "" && len(s.Blocks) > 0 {
			s.Blocks = append(
				s.Blocks,
				htmlBlock{Words: "At best, measured in session " + short(m.Session.ID, idLength) + ": " +
					words + "."},
			)
		}
	}
	return s
}

// isPeer reports whether an implementation is neither triad's nor the user's.
func isPeer(impl string) bool {
	family, _, _ := strings.Cut(impl, "/")
	return !slices.Contains([]string{"cuda", "triton", "mine"}, family)
}

// peerRows compares the fastest own implementation of each case with the fastest of others.
func (p Page) peerRows() []htmlRow {
	compared := map[[3]string]record.Comparison{}
	for _, c := range p.comparisons() {
		compared[[3]string{c.RunA, c.RunB, c.Regime}] = c
	}
	var rows []htmlRow
	for _, point := range points(p.timed()) {
		best := map[string][2]*timedRun{} // by regime: own, others'
		for _, r := range point.records {
			for i, t := range r.Timings {
				if !usableTime(t) {
					continue
				}
				b, side := best[t.Regime], 0
				if isPeer(r.Impl) {
					side = 1
				}
				if b[side] == nil || t.MedianNS < b[side].MedianNS {
					b[side] = &timedRun{r.Impl, r.ID, &r.Timings[i]}
				}
				best[t.Regime] = b
			}
		}
		for _, regime := range sortedKeys(best) {
			own, other := best[regime][0], best[regime][1]
			if own == nil || other == nil {
				continue
			}
			rows = append(rows, row("", point.title(), regime, own.impl, Duration(own.MedianNS), other.impl,
				Duration(other.MedianNS), besideWords(compared, own, other)))
		}
	}
	return rows
}

type timedRun struct {
	impl, id string
	*record.Timing
}

// besideWords returns the ratio of two runs, with its interval if they were timed in the same rounds.
func besideWords(compared map[[3]string]record.Comparison, own, other *timedRun) string {
	if c, known := compared[[3]string{own.id, other.id, own.Regime}]; known {
		return fmt.Sprintf("%.3f [%.3f, %.3f]", c.Ratio, c.Low, c.High)
	}
	if c, known := compared[[3]string{other.id, own.id, own.Regime}]; known && c.Low > 0 {
		return fmt.Sprintf("%.3f [%.3f, %.3f]", 1/c.Ratio, 1/c.High, 1/c.Low)
	}
	return fmt.Sprintf("%.3f of the medians", own.MedianNS/other.MedianNS)
}

// historySection shows the history of each implementation over the sessions.
func (p Page) historySection() htmlSection {
	s := htmlSection{ID: "history", Title: "History", Filter: true}
	if p.HistoryOf > 0 {
		s.Words = fmt.Sprintf(
			"Of the newest %d sessions; triad results history OP tells of all.",
			p.HistoryOf,
		)
	}
	for _, f := range p.historyFigures() {
		s.Blocks = append(s.Blocks, htmlBlock{Figure: f.html()})
	}
	for _, operator := range sortedKeys(p.Histories) {
		var rows []htmlRow
		for _, impl := range historyOrder(p.Histories[operator]) {
			for _, step := range p.Histories[operator][impl] {
				weight := "good"
				if step.Bad > 0 {
					weight = "bad"
				}
				line := row(weight, impl, minuteOf(step.Started))
				line.Cells = append(line.Cells, p.sessionCell(step.Session))
				for _, words := range []string{
					short(step.Source, 8), fmt.Sprint(step.Good), fmt.Sprint(step.Neutral),
					fmt.Sprint(step.Bad),
					ofBoundWords(inverse(step.ErrorMargin)), timesOf(step), storyOf(Style{}, step),
				} {
					line.Cells = append(line.Cells, htmlCell{Words: clean(words)})
				}
				line.Search += " " + strings.ToLower(storyOf(Style{}, step))
				rows = append(rows, line)
			}
		}
		if len(rows) > 0 {
			s.Blocks = append(s.Blocks, tableOf("History of "+operator, []string{
				"implementation", "started", "session", "source", ">good", ">neutral", ">bad",
				">" + ofBoundName,
				">time", "what changed",
			}, rows))
		}
	}
	return s
}

// environmentSection shows where and with what the sessions ran.
func (p Page) environmentSection() htmlSection {
	s := htmlSection{ID: "environment", Title: "Where it ran"}
	const most = 12
	for _, m := range p.Sessions[:min(len(p.Sessions), most)] {
		x := m.Session
		rows := []htmlRow{}
		fact := func(name, words string) {
			if words != "" {
				rows = append(rows, row("", name, words))
			}
		}
		fact("command", "triad "+record.CommandLine(x.Command))
		fact("started", secondOf(x.Started))
		if x.Ended.IsZero() {
			fact("ended", "not yet, or its process was killed")
		} else {
			fact("ended", fmt.Sprintf("%s, exit code %d", secondOf(x.Ended), x.Exit))
		}
		fact("seed", fmt.Sprint(x.Seed))
		fact("triad", strings.TrimSpace(x.Version+" "+x.Commit))
		fact("machine", machineWords(x.Machine))
		fact("versions", toolchainWords(x.Toolchain))
		fact("at best", ceilingWords(m.Ceilings))
		ended, _, _ := strings.Cut(x.InternalError, "\n")
		fact("ended by", ended)
		s.Blocks = append(s.Blocks, factsOf("Session "+x.ID, rows))
	}
	if more := len(p.Sessions) - most; more > 0 {
		s.Words = fmt.Sprintf("The newest %d of %s.", most, counted(len(p.Sessions), "session"))
	}
	return s
}

// mostChanges limits the rows of each kind that a comparison shows.
const mostChanges = 200

// changesSection shows what changed from one side to the other.
func (p Page) changesSection() htmlSection {
	s := htmlSection{ID: "changes", Title: "What changed", Filter: true}
	if p.Diff == nil {
		return s
	}
	a, b := p.Diff.A, p.Diff.B
	var rows []htmlRow
	fact := func(name, words string) { rows = append(rows, row("", name, words)) }
	fact("A", a.Words)
	fact("B", b.Words)
	if causes := resultdiff.Causes(a, b); len(causes) > 0 {
		fact("not the same", strings.Join(causes, "; "))
	}
	if sources := resultdiff.Sources(a, b); len(sources) > 0 {
		fact("sources that changed", strings.Join(sources, ", "))
	}
	s.Blocks = append(s.Blocks, factsOf("What is compared", rows))
	for _, part := range outcomeParts {
		s.add(p.outcomeTable(capitalised(part.title), part.outcome))
	}
	for _, part := range speedParts {
		s.add(p.ratioTable(capitalised(part.title), part.verdict))
	}
	return s
}

// add appends a table if it has rows, at most mostChanges of them.
func (s *htmlSection) add(b htmlBlock) {
	if n := len(b.Table.Rows); n > mostChanges {
		b.Table.Caption += fmt.Sprintf(" (%d of %d)", mostChanges, n)
		b.Table.Rows = b.Table.Rows[:mostChanges]
	}
	if len(b.Table.Rows) > 0 {
		s.Blocks = append(s.Blocks, b)
	}
}

func (p Page) outcomeTable(title string, outcome resultdiff.Outcome) htmlBlock {
	var rows []htmlRow
	for _, c := range p.Diff.Changes {
		if c.Outcome != outcome {
			continue
		}
		x := c.B
		line := row(weightOf(x.Status), x.Case.Op+"/"+c.Impl(), x.Case.Pass.String(), x.Case.DType,
			c.A.Status.String(), x.Status.String(), caseWords(x.Case), x.Message)
		line.Cells[3].Weight, line.Cells[4].Weight = weightOf(c.A.Status), weightOf(x.Status)
		line.Cells = append(line.Cells, p.runCell(c.A.Run), p.runCell(x.Run))
		rows = append(rows, line)
	}
	return tableOf(title, []string{
		"implementation", "pass", "dtype", "A", "B", "case", "what it says", "run of A", "run of B",
	}, rows)
}

func (p Page) ratioTable(title string, verdict resultdiff.SpeedVerdict) htmlBlock {
	type timed struct {
		resultdiff.Change
		resultdiff.Ratio
	}
	var all []timed
	for _, c := range p.Diff.Changes {
		for _, r := range c.Times {
			if r.SpeedVerdict == verdict {
				all = append(all, timed{c, r})
			}
		}
	}
	slices.SortStableFunc(all, func(x, y timed) int { return cmp.Compare(y.Distance(), x.Distance()) })
	weight := map[resultdiff.SpeedVerdict]string{resultdiff.Slower: "bad", resultdiff.Faster: "good"}[verdict]
	var rows []htmlRow
	for _, t := range all {
		changed := t.Why
		if changed == "" {
			changed = resultdiff.SourceChange(t.A, t.B)
		}
		line := row(weight, t.B.Case.Op+"/"+t.Impl(), t.B.Case.Pass.String(), t.B.Case.DType, t.Regime,
			Duration(t.ANS), Duration(t.BNS), fmt.Sprintf("%.3f [%.3f, %.3f]", t.Ratio.Ratio, t.Low, t.High),
			caseWords(t.B.Case), changed)
		rows = append(rows, line)
	}
	return tableOf(title, []string{
		"implementation", "pass", "dtype", "regime", ">A", ">B", ">B / A", "case", "because",
	}, rows)
}
