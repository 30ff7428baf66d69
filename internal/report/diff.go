package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/resultdiff"
)

// outcomeParts are the parts of a comparison about verdicts, in their order.
var outcomeParts = []struct {
	title   string
	outcome resultdiff.Outcome
	colour  colour
}{
	{"became wrong", resultdiff.BecameWrong, bad},
	{"became right", resultdiff.BecameRight, good},
	{"no longer good, not wrong either", resultdiff.Lost, mild},
	{"good, and was neither good nor wrong", resultdiff.Gained, good},
	{"another status", resultdiff.Other, mild},
}

// speedParts are the parts of a comparison about times, in their order.
var speedParts = []struct {
	title   string
	verdict resultdiff.SpeedVerdict
	colour  colour
}{
	{"slower", resultdiff.Slower, bad},
	{"faster", resultdiff.Faster, good},
	{"ambiguous", resultdiff.Ambiguous, mild},
	{"the same", resultdiff.Same, mild},
	{"not comparable", resultdiff.Incomparable, mild},
}

// Diff writes what changed between two sides: what they are, what they do not have in common, how many
// changes of each kind, then at most limit lines of each kind, the worst first.
func Diff(w io.Writer, style Style, a, b resultdiff.Side, changes []resultdiff.Change, limit int) error {
	if err := diffHeading(style.Wrap(w), style, a, b, changes); err != nil {
		return err
	}
	for _, part := range outcomeParts {
		if err := diffVerdicts(w, style, style.paint(part.colour, part.title), changes, part.outcome,
			limit); err != nil {
			return err
		}
	}
	for _, part := range speedParts {
		if part.verdict == resultdiff.Same {
			continue // the summary counts them
		}
		title := style.paint(part.colour, part.title)
		if err := diffTimes(w, style, title, changes, part.verdict, limit); err != nil {
			return err
		}
	}
	return nil
}

func diffHeading(w io.Writer, style Style, a, b resultdiff.Side, changes []resultdiff.Change) error {
	var text strings.Builder
	fmt.Fprintf(&text, "A  %s\nB  %s\n", clean(a.Words), clean(b.Words))
	if causes := resultdiff.Causes(a, b); len(causes) > 0 {
		fmt.Fprintf(&text, "Not the same: %s.\n", clean(strings.Join(causes, "; ")))
	}
	if sources := resultdiff.Sources(a, b); len(sources) > 0 {
		shown := sources[:min(len(sources), 8)]
		more := ""
		if len(sources) > len(shown) {
			more = fmt.Sprintf(" and %d more", len(sources)-len(shown))
		}
		fmt.Fprintf(&text, "Sources that changed: %s%s.\n", clean(strings.Join(shown, ", ")), more)
	}
	text.WriteString("\n" + style.paint(bold, diffSummary(resultdiff.Counted(changes))) + "\n")
	return write(w, text.String())
}

// diffSummary counts the changes in a sentence without zero counts.
func diffSummary(c resultdiff.Count) string {
	var words []string
	add := func(n int, what string) {
		if n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, what))
		}
	}
	o := c.Outcomes
	add(o[resultdiff.BecameWrong], "became wrong")
	add(o[resultdiff.BecameRight], "became right")
	add(o[resultdiff.Lost], "no longer good")
	add(o[resultdiff.Gained], "good now")
	add(o[resultdiff.Other], "of another status")
	add(o[resultdiff.Unchanged], "unchanged")
	add(o[resultdiff.OnlyA], "only in A")
	add(o[resultdiff.OnlyB], "only in B")
	sentence := "Verdicts: " + strings.Join(words, ", ") + "."
	words = nil
	for _, verdict := range []resultdiff.SpeedVerdict{
		resultdiff.Slower, resultdiff.Faster, resultdiff.Same, resultdiff.Ambiguous, resultdiff.Incomparable,
	} {
		add(c.SpeedVerdicts[verdict], string(verdict))
	}
	if len(words) > 0 {
		sentence += " Times of B: " + strings.Join(words, ", ") + "."
	}
	return sentence
}

// diffVerdicts writes a line for each implementation, dtype and pair of statuses.
func diffVerdicts(
	w io.Writer,
	style Style,
	title string,
	changes []resultdiff.Change,
	outcome resultdiff.Outcome,
	limit int,
) error {
	type line struct {
		op, impl, dtype string
		pass            op.Pass
		a, b            op.Status
	}
	var order []line
	members := map[line][]resultdiff.Change{}
	for _, c := range changes {
		if c.Outcome != outcome {
			continue
		}
		l := line{c.B.Case.Op, c.Impl(), c.B.Case.DType, c.B.Case.Pass, c.A.Status, c.B.Status}
		if members[l] == nil {
			order = append(order, l)
		}
		members[l] = append(members[l], c)
	}
	if len(order) == 0 {
		return nil
	}
	var rows [][]string
	for _, l := range order[:min(len(order), limit)] {
		first := members[l][0].B
		rows = append(rows, []string{
			l.op, l.pass.String(), l.dtype, l.impl, style.status(l.a), style.status(l.b),
			fmt.Sprint(len(members[l])), first.Run, cmp.Or(clean(first.Message), caseWords(first.Case)),
		})
	}
	return section(w, style, title, columns("op", "pass", "dtype", "implementation", "A", "B", ">cases",
		"first in B", "what it says"), rows, len(order))
}

// diffTimes writes a line for each time with one word, the largest difference first.
func diffTimes(w io.Writer, style Style, title string, changes []resultdiff.Change,
	verdict resultdiff.SpeedVerdict,
	limit int,
) error {
	type timed struct {
		resultdiff.Change
		resultdiff.Ratio
	}
	var all []timed
	for _, c := range changes {
		for _, r := range c.Times {
			if r.SpeedVerdict == verdict {
				all = append(all, timed{c, r})
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	slices.SortStableFunc(all, func(x, y timed) int { return cmp.Compare(y.Distance(), x.Distance()) })
	var rows [][]string
	for _, t := range all[:min(len(all), limit)] {
		changed := t.Why
		if changed == "" {
			changed = resultdiff.SourceChange(t.A, t.B)
		}
		rows = append(rows, []string{
			t.B.Case.Op, t.B.Case.Pass.String(), t.B.Case.DType, t.Impl(), t.Regime, Duration(t.ANS),
			Duration(t.BNS), fmt.Sprintf("%.3f [%.3f, %.3f]", t.Ratio.Ratio, t.Low, t.High),
			caseWords(t.B.Case), changed,
		})
	}
	return section(
		w,
		style,
		title,
		columns("op", "pass", "dtype", "implementation", "regime", ">A", ">B", ">B / A",
			"case", ""),
		rows,
		len(all),
	)
}

// section writes a titled table, and the number of lines left out.
func section(w io.Writer, style Style, title string, header []column, rows [][]string, total int) error {
	if err := write(w, "\n"+title+"\n"); err != nil {
		return err
	}
	if err := style.Table(w, "  ", header, rows); err != nil {
		return err
	}
	if total > len(rows) {
		return write(w, fmt.Sprintf("  %d more; --limit shows more.\n", total-len(rows)))
	}
	return nil
}

// change is the JSON form of a change; docs/json.md describes it.
type change struct {
	Outcome    string          `json:"outcome"`
	Op         string          `json:"op"`
	Pass       op.Pass         `json:"pass"`
	DType      string          `json:"dtype"`
	Dims       any             `json:"dims"`
	Attributes any             `json:"attributes"`
	CaseKey    string          `json:"case"`
	Impl       string          `json:"impl"`
	A          *changeSide     `json:"a"`
	B          *changeSide     `json:"b"`
	Times      []changeOfTimes `json:"times"`
}

type changeSide struct {
	Run     string    `json:"run"`
	Session string    `json:"session"`
	Source  string    `json:"source"`
	Status  op.Status `json:"status"`
	Message string    `json:"message"`
}

type changeOfTimes struct {
	Regime       string       `json:"regime"`
	SpeedVerdict string       `json:"word"`
	ANS          float64      `json:"a_ns"`
	BNS          float64      `json:"b_ns"`
	Ratio        record.Float `json:"ratio"`
	Low          record.Float `json:"ratio_low"`
	High         record.Float `json:"ratio_high"`
	P            float64      `json:"p"`
	Why          string       `json:"why"`
}

// Change returns the JSON form of a change of one implementation on one case.
func Change(c resultdiff.Change) any {
	of := c.Of()
	out := change{
		Outcome: string(c.Outcome), Op: of.Case.Op, Pass: of.Case.Pass, DType: of.Case.DType,
		Dims: record.DimMembers(of.Case.Dims), Attributes: record.AttrMembers(of.Case.Attrs),
		CaseKey: of.CaseKey, Impl: of.Impl, A: sideOf(c.A), B: sideOf(c.B), Times: []changeOfTimes{},
	}
	for _, r := range c.Times {
		out.Times = append(out.Times, timesJSON(r))
	}
	return out
}

func timesJSON(r resultdiff.Ratio) changeOfTimes {
	return changeOfTimes{
		Regime: r.Regime, SpeedVerdict: string(r.SpeedVerdict), ANS: r.ANS, BNS: r.BNS,
		Ratio: record.Float(r.Ratio),
		Low:   record.Float(r.Low), High: record.Float(r.High), P: r.P, Why: r.Why,
	}
}

func sideOf(e *resultdiff.Entry) *changeSide {
	if e == nil {
		return nil
	}
	return &changeSide{Run: e.Run, Session: e.Session, Source: e.Source, Status: e.Status, Message: e.Message}
}
