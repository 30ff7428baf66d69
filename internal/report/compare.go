package report

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

// Summary holds what the last lines of a comparison say in addition to the totals.
type Summary struct {
	Database string // path; "" where nothing was recorded
	Session  string // ULID
	Seed     uint64
	Exit     int
	// one sentence for exit 2 or 3, for exit 1 where no row is bad, and where a session was interrupted
	Reason   string
	Findings []string // the outcomes of documented findings, a sentence each
	Timed    Timed
	Spent    Spent
	Power    Power
	Details  bool // a line for each dtype, the cases without power, how far implementations lie apart
	// Impls are the prefixes by which implementations were asked for; nil: all.
	Impls []string
}

// Power counts the cases of a run that can tell right from wrong; the zero value says nothing.
type Power struct {
	Cases, Powered int // Cases: all with elements to compare but those that are trivial by design
	Trivial        int
}

// words returns one line.
func (p Power) words() string {
	if p.Cases == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of %s can tell right from wrong (%.1f %%)", p.Powered, counted(p.Cases, "case"),
		100*float64(p.Powered)/float64(p.Cases))
	if p.Trivial > 0 {
		verb := "are"
		if p.Trivial == 1 {
			verb = "is"
		}
		text += fmt.Sprintf("; %d more %s trivial by design", p.Trivial, verb)
	}
	return text + ".\n"
}

// Spent breaks down the time of a command that times kernels. Without parts nothing is printed.
type Spent struct {
	// Imports: until Python's workers had imported torch and Triton, side by side
	Whole, Imports time.Duration
	Parts          []SpentPart
}

// SpentPart is the time of one part.
type SpentPart struct {
	On   string
	Time time.Duration
}

// words returns one line, with Python's imports, which no command can shorten: most of loading.
func (s Spent) words() string {
	if len(s.Parts) == 0 {
		return ""
	}
	var parts []string
	for _, p := range s.Parts {
		parts = append(parts, fmt.Sprintf("%s %.1f s", p.On, p.Time.Seconds()))
	}
	text := fmt.Sprintf("The command took %.1f s (%s)", s.Whole.Seconds(), strings.Join(parts, ", "))
	if s.Imports > 0 {
		text += fmt.Sprintf(", Python's imports of torch and Triton %.1f s of it", s.Imports.Seconds())
	}
	return text + ".\n"
}

// shownPerLine limits the bad records that are shown in full for one line of the table; the rest is counted.
const shownPerLine = 2

// Compare writes the results of `triad compare`: for each operator and pass a table with a line for each
// implementation, its dtypes side by side, below it every bad line with its place and the command that shows
// it, and at the end the totals. With details the table has a line for each dtype, followed by the cases
// without power and how far the implementations lie apart.
func Compare(w io.Writer, style Style, records []record.Record, differences []record.Difference,
	summary Summary,
) error {
	w = style.Wrap(w)
	parts := []func(io.Writer, Style, []group) error{
		heading, implementationTable, unavailable, doubts,
		badLines, printed,
	}
	if summary.Details {
		parts = []func(io.Writer, Style, []group) error{
			heading, dtypeTable, powerless, unavailable, doubts,
			badLines, printed,
		}
	}
	for _, lines := range groups(records) {
		if !summary.Details {
			lines = asked(lines, summary.Impls)
		}
		for _, part := range parts {
			if err := part(w, style, lines); err != nil {
				return err
			}
		}
		if summary.Details {
			if err := apart(w, style, lines, differences); err != nil {
				return err
			}
		}
		if err := write(w, "\n"); err != nil {
			return err
		}
	}
	if err := Times(w, style, records, summary.Timed); err != nil {
		return err
	}
	return totals(w, style, records, summary)
}

// asked removes implementations that lack the pass and were not named, unless no others remain.
func asked(lines []group, impls []string) []group {
	var kept []group
	for _, all := range byImplementation(lines) {
		together := joined(all)
		family, _, _ := strings.Cut(together.impl, "/")
		lacks := !slices.ContainsFunc(together.records, func(r record.Record) bool {
			return r.Status != op.StatusMissing
		})
		if !lacks || family == "mine" || slices.Contains(impls, together.impl) {
			kept = append(kept, all...)
		}
	}
	if len(kept) == 0 {
		return lines
	}
	return kept
}

// shownPowerless limits the cases without power that are named.
const shownPowerless = 3

// powerless names, once for all lines, the cases that cannot tell right from wrong: they count as neutral for
// every implementation.
func powerless(w io.Writer, style Style, lines []group) error {
	var cases []string
	for _, g := range lines {
		for _, r := range g.records {
			if words := caseWords(r.Case); r.Status == op.StatusNoPower && !slices.Contains(cases, words) {
				cases = append(cases, words)
			}
		}
	}
	if len(cases) == 0 {
		return nil
	}
	text := strings.Join(cases[:min(shownPowerless, len(cases))], "; ")
	if more := len(cases) - shownPowerless; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return write(w,
		fmt.Sprintf("\n  %s  neutral for all, since a trivial wrong answer would pass as well: %s\n",
			style.status(op.StatusNoPower), text))
}

// warning matches a warning of Python with the line of code that it shows: they come from libraries, such as
// NumPy's under Triton's interpreter.
var warning = regexp.MustCompile(`(?m)^\S+:\d+: \w*Warning: .*\n?(?:^  .*\n?)?`)

// withoutWarnings returns a log without the warnings of libraries.
func withoutWarnings(log string) string { return strings.TrimSpace(warning.ReplaceAllString(log, "")) }

// printed reports once for each of the user's own files that it printed something, which the table does not
// show, and where to read it.
func printed(w io.Writer, style Style, lines []group) error {
	var reported []string
	for _, g := range lines {
		for _, r := range g.records {
			// otherwise the compiler printed it
			judged := r.Status != op.StatusBuildFail && r.Status != op.StatusUnavailable
			if r.Backend != "mine" || withoutWarnings(r.LogTail) == "" || r.ID == "" || !judged ||
				slices.Contains(reported, r.Impl) {
				continue
			}
			reported = append(reported, r.Impl)
			if err := write(w, fmt.Sprintf("\n  %s printed something: triad results show %s%s\n",
				clean(r.Impl), r.ID, style.InDatabase)); err != nil {
				return err
			}
		}
	}
	return nil
}

func heading(w io.Writer, style Style, lines []group) error {
	return write(w, style.paint(bold, lines[0].op+" "+lines[0].pass.String())+"\n\n")
}

// implementationTable writes a line for each implementation: its status and its largest error in each dtype,
// and the counts of all dtypes together.
func implementationTable(w io.Writer, style Style, lines []group) error {
	byDType := dtypes(lines)
	names := slices.Concat([]string{"implementation"}, byDType, countNames, []string{"?device", "note"})
	var rows [][]string
	for _, all := range byImplementation(lines) {
		together := joined(all)
		cells := []string{together.impl}
		for _, d := range byDType {
			cells = append(cells, "")
			for _, g := range all {
				if g.dtype == d {
					cells[len(cells)-1] = strings.TrimSpace(style.status(g.status()) + " " + g.errorWords())
				}
			}
		}
		rows = append(rows, slices.Concat(cells, together.countCells(),
			[]string{together.devices(), together.shortNote()}))
	}
	names, rows = withoutEmpty(names, rows, "note", excused)
	return style.Table(w, "  ", columns(names...), rows)
}

// dtypeTable writes a line for each implementation and dtype.
func dtypeTable(w io.Writer, style Style, lines []group) error {
	names := slices.Concat([]string{"implementation", "dtype", "status"}, countNames,
		[]string{"?>headroom", "?>max ulp", "?device", "note"})
	var rows [][]string
	for _, g := range lines {
		errorMargin, ulp := g.measures()
		rows = append(rows, slices.Concat([]string{g.impl, g.dtype, style.status(g.status())}, g.countCells(),
			[]string{figure(errorMargin), figure(ulp), g.devices(), g.note()}))
	}
	names, rows = withoutEmpty(names, rows, excused)
	return style.Table(w, "  ", columns(names...), rows)
}

// excused is the column of the runs that are wrong or looser as is documented.
const excused = "?>excused"

// countNames are the columns of countCells.
var countNames = []string{">good", "?>not taken", "?>cannot tell", excused, ">bad"}

// countCells returns how many records are good, how many of each kind neutral, and how many bad. That none is
// excused is left empty.
func (g group) countCells() []string {
	good, _, bad := g.counts()
	neutral := g.neutrals()
	cells := []string{
		fmt.Sprint(good), fmt.Sprint(neutral.notTaken), fmt.Sprint(neutral.cannotTell), "", fmt.Sprint(bad),
	}
	if neutral.excused > 0 {
		cells[3] = fmt.Sprint(neutral.excused)
	}
	return cells
}

// withoutEmpty removes the named columns whose cells are all empty.
func withoutEmpty(names []string, rows [][]string, spare ...string) ([]string, [][]string) {
	for _, name := range spare {
		at := slices.Index(names, name)
		if at < 0 || slices.ContainsFunc(rows, func(row []string) bool { return row[at] != "" }) {
			continue
		}
		names = slices.Delete(slices.Clone(names), at, at+1)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], at, at+1)
		}
	}
	return names, rows
}

// unavailable reports once for all lines that need it what is missing and how to get it.
func unavailable(w io.Writer, style Style, lines []group) error {
	var order []string
	families := map[string][]string{}
	for _, g := range lines {
		family, _, _ := strings.Cut(g.impl, "/")
		for _, r := range g.records {
			if r.Status != op.StatusUnavailable {
				continue
			}
			why := clean(r.Message)
			if families[why] == nil {
				order = append(order, why)
			}
			if !slices.Contains(families[why], family) {
				families[why] = append(families[why], family)
			}
		}
	}
	for _, why := range order {
		if err := write(w, fmt.Sprintf("\n  %s  %s: %s\n", style.status(op.StatusUnavailable),
			strings.Join(families[why], ", "), why)); err != nil {
			return err
		}
	}
	return nil
}

// badLines prints the first bad records of each line, the smallest cases first. What went wrong before
// anything was judged, such as a library that does not compile, is printed once, with the names of all that
// share it.
func badLines(w io.Writer, style Style, lines []group) error {
	sharing := map[string][]string{}
	for _, g := range lines {
		for _, r := range g.records {
			if why := sharedReason(r); why != "" && !slices.Contains(sharing[why], g.impl) {
				sharing[why] = append(sharing[why], g.impl)
			}
		}
	}
	reported := map[string]bool{}
	for _, g := range lines {
		if err := badLine(w, style, g, sharing, reported); err != nil {
			return err
		}
	}
	return nil
}

// sharedReason returns what a bad record without a judged output has in common with others; "" for any other
// record.
func sharedReason(r record.Record) string {
	if r.Status.Weight() != op.Bad || len(r.Outputs) > 0 {
		return ""
	}
	return r.Status.String() + " " + r.Message
}

// badLine prints the bad records of one line of the table.
func badLine(w io.Writer, style Style, g group, sharing map[string][]string, reported map[string]bool) error {
	var bads []record.Record
	unreported := 0
	for _, r := range g.records {
		why := sharedReason(r)
		switch {
		case r.Status.Weight() != op.Bad:
		case why != "" && reported[why]:
			unreported++
		default:
			reported[why] = why != ""
			bads = append(bads, r)
		}
	}
	if len(bads) == 0 {
		return nil
	}
	slices.SortStableFunc(bads,
		func(a, b record.Record) int { return cmp.Compare(size(a.Case), size(b.Case)) })
	shown := min(len(bads), shownPerLine)
	for _, r := range bads[:shown] {
		others := slices.DeleteFunc(slices.Clone(sharing[sharedReason(r)]),
			func(impl string) bool { return impl == g.impl })
		if err := badRecord(w, style, r, others); err != nil {
			return err
		}
	}
	more := len(bads) - shown + unreported
	if more == 0 {
		return nil
	}
	return write(w, fmt.Sprintf("        and %d more: triad results list --op %s --impl %s --dtype %s "+
		"--status %s%s\n", more, g.op, g.impl, g.dtype, g.status(), style.InDatabase))
}

// size estimates the number of elements of a case: the product of its dims, as a float so that it cannot
// overflow.
func size(c op.Case) float64 {
	n := 1.0
	for _, d := range c.Dims {
		n *= float64(d.Value)
	}
	return n
}

// choicesFirst puts wrong choices before the outputs that follow from them.
func choicesFirst(outputs []record.Verdict) []record.Verdict {
	return slices.SortedStableFunc(slices.Values(outputs), func(a, b record.Verdict) int {
		return btoi(b.Gate == "G7") - btoi(a.Gate == "G7")
	})
}

// Bad prints one bad record: which case, which element of which output, what was accepted.
func Bad(w io.Writer, style Style, r record.Record) error {
	return badRecord(style.Wrap(w), style, r, nil)
}

// badRecord prints one bad record: which case, which element of which output, what was accepted, and how to
// see more. The others failed for the same reason.
func badRecord(w io.Writer, style Style, r record.Record, others []string) error {
	const indent = "        "
	var text strings.Builder
	fmt.Fprintf(&text, "\n  %s  %s/%s %s %s, %s\n", style.status(r.Status), r.Case.Op, r.Impl, r.Case.Pass,
		r.Case.DType, caseWords(r.Case))
	judged := false
	for _, v := range choicesFirst(r.Outputs) {
		if v.Status.Weight() == op.Bad {
			judged = true
			text.WriteString(indent + verdictWords(v) + "\n")
		}
	}
	if !judged && r.Message != "" {
		text.WriteString(indent + clean(r.Message) + "\n")
	}
	if where := whereBeyond(r.Message, r.Where); where != "" {
		preposition := "at "
		if strings.HasPrefix(where, "kernel ") {
			preposition = "in "
		}
		text.WriteString(indent + preposition + where + "\n")
	}
	if len(others) > 0 {
		text.WriteString(indent + "the same for " + strings.Join(others, ", ") + "\n")
	}
	if r.ID != "" {
		text.WriteString(indent + "triad results show " + r.ID + style.InDatabase + "\n")
	}
	return write(w, text.String())
}

// totals writes the last lines: the numbers of good, neutral and bad runs, what the exit code means, and
// where the results are.
func totals(w io.Writer, style Style, records []record.Record, summary Summary) error {
	all := group{records: records}
	goods, _, bads := all.counts()
	colours := map[int]colour{0: good, 1: bad}
	colour, ok := colours[summary.Exit]
	if !ok {
		colour = mild
	}
	meaning := map[int]string{
		0: "nothing is wrong.", 1: "something is wrong.", 2: "the request cannot be understood.",
		3: "nothing was proven right or wrong.",
	}[summary.Exit]
	if summary.Exit == 3 && goods > 0 {
		meaning = "what was asked for is not complete."
	}
	switch {
	case summary.Reason == "":
	case summary.Exit == 2 || summary.Exit == 3:
		meaning = strings.TrimSuffix(meaning, ".") + ": " + clean(summary.Reason)
	case summary.Exit == 1 && bads == 0: // what is wrong is in no row
		meaning = clean(summary.Reason)
	default: // it does not explain the code
		meaning += " " + clean(summary.Reason)
	}
	text := ""
	for _, sentence := range summary.Findings {
		text += clean(sentence) + "\n"
	}
	text += fmt.Sprintf("%s: %d good, %s%d bad. %s\n", counted(len(records), "run"), goods,
		all.neutrals().words(), bads,
		style.paint(colour, fmt.Sprintf("Exit %d: %s", summary.Exit, strings.TrimSpace(meaning))))
	if summary.Database != "" {
		text += fmt.Sprintf("Inputs from seed %d; recorded in %s. Look at it: triad results report %s%s\n",
			summary.Seed, clean(summary.Database), summary.Session, style.InDatabase)
	}
	if summary.Details {
		text += summary.Power.words()
	}
	return write(w, text+summary.Spent.words())
}
