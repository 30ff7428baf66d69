package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
)

// group holds all records of one implementation in one dtype, of one operator and pass: a line of the table.
type group struct {
	op          string
	pass        op.Pass
	impl, dtype string
	records     []record.Record
}

// groups gathers records into lines: operators in the order of the records, forward before backward, then
// backends, names and dtypes.
func groups(records []record.Record) [][]group {
	type section struct {
		op   string
		pass op.Pass
	}
	type line struct {
		section
		impl, dtype string
	}
	var sections []section
	lines := map[line]*group{}
	bySection := map[section][]*group{}
	for _, r := range records {
		s := section{r.Case.Op, r.Case.Pass}
		if _, known := bySection[s]; !known {
			sections = append(sections, s)
		}
		key := line{s, r.Impl, r.Case.DType}
		if lines[key] == nil {
			lines[key] = &group{op: s.op, pass: s.pass, impl: r.Impl, dtype: r.Case.DType}
			bySection[s] = append(bySection[s], lines[key])
		}
		lines[key].records = append(lines[key].records, r)
	}
	first := map[string]int{}
	for i, s := range sections {
		if _, known := first[s.op]; !known {
			first[s.op] = i
		}
	}
	// What is left out is recorded before anything runs: a backward that is left out must not come before the
	// forward that is not.
	slices.SortStableFunc(sections, func(a, b section) int {
		return cmp.Or(cmp.Compare(first[a.op], first[b.op]), cmp.Compare(a.pass, b.pass))
	})
	out := make([][]group, len(sections))
	for i, s := range sections {
		for _, g := range bySection[s] {
			out[i] = append(out[i], *g)
		}
		slices.SortStableFunc(out[i], func(a, b group) int {
			return cmp.Or(backendRank(a.impl)-backendRank(b.impl), strings.Compare(a.impl, b.impl),
				dtypeRank(a.dtype)-dtypeRank(b.dtype),
				strings.Compare(a.dtype, b.dtype))
		})
	}
	return out
}

// dtypes returns the dtypes of the lines, wider formats first.
func dtypes(lines []group) []string {
	var all []string
	for _, g := range lines {
		if !slices.Contains(all, g.dtype) {
			all = append(all, g.dtype)
		}
	}
	slices.SortStableFunc(all,
		func(a, b string) int { return cmp.Or(dtypeRank(a)-dtypeRank(b), strings.Compare(a, b)) })
	return all
}

// byImplementation splits the lines of an operator and pass, which are sorted by implementation.
func byImplementation(lines []group) [][]group {
	var all [][]group
	for i, g := range lines {
		if i == 0 || g.impl != lines[i-1].impl {
			all = append(all, nil)
		}
		all[len(all)-1] = append(all[len(all)-1], g)
	}
	return all
}

// joined returns one line for all dtypes of an implementation.
func joined(lines []group) group {
	g := group{op: lines[0].op, pass: lines[0].pass, impl: lines[0].impl}
	for _, l := range lines {
		g.records = append(g.records, l.records...)
	}
	return g
}

// backendRank sorts hand-written CUDA first, then Triton, then cuTile, then torch, then peers.
func backendRank(impl string) int {
	family, _, _ := strings.Cut(impl, "/")
	order := slices.Concat([]string{"cuda", "triton", "cutile", "torch"}, op.PeerFamilies)
	if i := slices.Index(order, family); i >= 0 {
		return i
	}
	return len(order)
}

// dtypeRank sorts wider formats first.
func dtypeRank(name string) int {
	main, _, _ := strings.Cut(name, "_")
	d, err := op.ParseDType(main)
	if err != nil {
		return 255
	}
	return int(d)
}

// neutral counts what is neither good nor bad: what an implementation did not take or have, what was run and
// cannot tell right from wrong, and what is wrong or looser as is documented.
type neutral struct{ notTaken, cannotTell, excused int }

// words returns the counts in words, without zeros that say nothing.
func (n neutral) words() string {
	text := fmt.Sprintf("%d not taken, %d cannot tell, ", n.notTaken, n.cannotTell)
	if n.excused > 0 {
		text += fmt.Sprintf("%d excused, ", n.excused)
	}
	return text
}

// counts returns how many records are good, neutral and bad.
func (g group) counts() (good, neutral, bad int) {
	for _, r := range g.records {
		switch r.Status.Weight() {
		case op.Good:
			good++
		case op.Neutral:
			neutral++
		default:
			bad++
		}
	}
	return good, neutral, bad
}

// neutrals counts the neutral records by their kinds.
func (g group) neutrals() (n neutral) {
	for _, r := range g.records {
		if r.Status.Weight() != op.Neutral {
			continue
		}
		switch r.Status {
		case op.StatusUnsupported, op.StatusMissing, op.StatusSkipped, op.StatusUnavailable,
			op.StatusInterrupted:
			n.notTaken++
		case op.StatusKnown, op.StatusDifferentContract:
			n.excused++
		default:
			n.cannotTell++
		}
	}
	return n
}

// mostULP is the largest error that the table gives in units in the last place. A larger one means that the
// truth lies near 0, not that the output is far off: there the share of the error bound says more.
const mostULP = 100

// errorWords returns the largest error of a line whose status is good; "" for any other.
func (g group) errorWords() string {
	errorMargin, ulp := g.measures()
	switch {
	case g.status().Weight() != op.Good || ulp == nil:
		return ""
	case float64(*ulp) <= mostULP:
		return fmt.Sprintf("%.2f ulp", float64(*ulp))
	case errorMargin != nil && *errorMargin > 0:
		return fmt.Sprintf("%.0f %% of bound", 100/float64(*errorMargin))
	}
	return ""
}

// rank orders statuses by how urgently they must be seen: bad before a known fault or one that rests on a
// guess, then a looser contract, a bias, a plain pass, and neutral. An implementation that meets the default
// contract only in a few cases does not meet it.
func rank(s op.Status) int {
	switch {
	case s == op.StatusUnknown:
		return 8
	case s.Weight() == op.Bad && s != op.StatusInconclusive:
		return 7
	case s.Weight() == op.Bad:
		return 6
	case s == op.StatusKnown, s == op.StatusNotUnderstood:
		return 5
	case s == op.StatusDifferentContract:
		return 4
	case s == op.StatusWarn:
		return 3
	case s.Weight() == op.Good:
		return 2
	}
	return 0
}

// status returns the status that the line shows: of the statuses that rank highest, the most frequent.
func (g group) status() op.Status {
	top, seen := -1, map[op.Status]int{}
	for _, r := range g.records {
		top = max(top, rank(r.Status))
		seen[r.Status]++
	}
	var shown op.Status
	for _, r := range g.records {
		if rank(r.Status) == top && seen[r.Status] > seen[shown] {
			shown = r.Status
		}
	}
	return shown
}

// measures returns the smallest error margin and the largest error in ulp over what was judged. A wrong
// implementation has no error margin. A case that cannot tell right from wrong counts only if there is no
// other.
func (g group) measures() (errorMargin, ulp *record.Float) {
	powerless, wrong := g.status() == op.StatusNoPower, false
	for _, r := range g.records {
		if r.Status == op.StatusNoPower && !powerless {
			continue
		}
		wrong = wrong || r.Status.Weight() == op.Bad
		for _, v := range r.Outputs {
			errorMargin = least(errorMargin, v.ErrorMargin, func(a, b record.Float) bool { return a < b })
			ulp = least(ulp, v.ULPMax, func(a, b record.Float) bool { return a > b })
		}
	}
	if wrong {
		errorMargin = nil
	}
	return errorMargin, ulp
}

// least returns the number that comes before the other; NaN comes before any, none after any.
func least(a, b *record.Float, before func(a, b record.Float) bool) *record.Float {
	if a == nil || b != nil && (b.Class() == "nan" || before(*b, *a)) {
		return b
	}
	return a
}

// devices returns the devices that the records ran on.
func (g group) devices() string {
	var all []string
	for _, r := range g.records {
		if r.Device != "" && !slices.Contains(all, r.Device) {
			all = append(all, r.Device)
		}
	}
	return strings.Join(all, ", ")
}

// sampled returns the share of elements that were compared one by one; "" if all were.
func (g group) sampled() string {
	fewest, share := 1.0, ""
	for _, r := range g.records {
		for _, v := range r.Outputs {
			if of := float64(v.NCompared) / float64(max(v.N, 1)); r.Status.Weight() == op.Good &&
				v.NCompared > 0 && of < fewest {
				fewest, share = of, "a large product was judged by sample: compared "+comparedShare(r)
			}
		}
	}
	return share
}

// note returns the most frequent reason of the neutral records and warnings, and the number of other reasons.
// Bad and NOT_UNDERSTOOD records are printed below the table, UNAVAILABLE once for all lines, and omitted
// reasons with --verbose.
func (g group) note(unreported ...op.Status) string {
	type reason struct {
		status op.Status
		words  string
	}
	seen := map[reason]int{}
	var order []reason
	for _, r := range g.records {
		if r.Status == op.StatusPass || r.Status.Weight() == op.Bad || r.Status == op.StatusUnavailable ||
			r.Status == op.StatusEmptyOK || r.Status == op.StatusNotUnderstood {
			continue
		}
		if slices.Contains(unreported, r.Status) {
			continue
		}
		if r.Status == op.StatusNoPower && g.status() != op.StatusNoPower {
			continue // the case's fault, not the implementation's: reported once below the table
		}
		why := reason{r.Status, clean(r.Message)}
		if r.Status == op.StatusDifferentContract {
			why.words = "passes under " + r.Contract
		}
		if seen[why] == 0 {
			order = append(order, why)
		}
		seen[why]++
	}
	if len(order) == 0 {
		return g.sampled()
	}
	slices.SortStableFunc(order, func(a, b reason) int { return seen[b] - seen[a] })
	words := order[0].words
	if order[0].status != g.status() || seen[order[0]] != len(g.records) {
		words = fmt.Sprintf("%d %s: %s", seen[order[0]], order[0].status, words)
	}
	if more := len(order) - 1; more > 0 {
		words += " (and " + counted(more, "other reason") + ")"
	}
	return words
}

// shortNote returns the note on the first screen. There, a passing implementation lists the cases that it
// declines only if it is the user's own.
func (g group) shortNote() string {
	family, _, _ := strings.Cut(g.impl, "/")
	if g.status() == op.StatusPass && family != "mine" {
		return g.note(op.StatusUnsupported)
	}
	return g.note()
}
