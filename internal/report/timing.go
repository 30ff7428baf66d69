package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"triad/internal/harmless"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/stats"
)

// Timed holds the timing part of a report: the ceilings of the session, and the ratios of implementations
// timed in the same rounds.
type Timed struct {
	Ceilings    []record.Ceiling
	Comparisons []record.Comparison
	Smaller     []string // which points are smaller than the operator's, a sentence each
}

// Bench writes the results of `triad bench`: for each operator and bench point a table with a line for each
// implementation and regime, then the device's peaks, and the totals.
func Bench(w io.Writer, style Style, records []record.Record, timed Timed, summary Summary) error {
	w = style.Wrap(w)
	if err := Times(w, style, records, timed); err != nil {
		return err
	}
	return totals(w, style, records, summary)
}

// Times writes only the tables of Bench: nothing if nothing was timed. "compared" is the share of the
// elements that were compared one by one; "sums" means that the rest was compared by the sums of its rows.
func Times(w io.Writer, style Style, records []record.Record, timed Timed) error {
	for _, point := range points(records) {
		if err := write(w, style.paint(bold, point.title())+"\n\n"); err != nil {
			return err
		}
		var rows [][]string
		for _, l := range point.lines(timed.Comparisons) {
			rows = append(rows, append([]string{l.impl, style.status(l.status), l.compared}, l.cells()...))
		}
		header := columns("implementation", "status", ">compared", "regime", ">median", ">interval", ">rate",
			">roofline", ">ratio", "speed", ">clock", ">occupancy", "note")
		if err := style.Table(w, "  ", header, rows); err != nil {
			return err
		}
		if err := write(w, "\n"); err != nil {
			return err
		}
	}
	for _, sentence := range timed.Smaller {
		if err := write(w, sentence+".\n"); err != nil {
			return err
		}
	}
	words := ceilingWords(timed.Ceilings)
	if words == "" {
		return nil
	}
	text := "At best, measured in this session: " + words + ".\n"
	if slices.ContainsFunc(records, lacksShare) {
		text += "No share of the roofline where what may be the limit was not measured: the CUDA worker " +
			"measures copies, torch (--impl torch beside yours) products.\n"
	}
	return write(w, text)
}

// lacksShare reports whether a record was timed, but without the roofline of the device.
func lacksShare(r record.Record) bool {
	return slices.ContainsFunc(r.Timings,
		func(t record.Timing) bool { return t.Status == op.StatusPass && t.Roofline == nil })
}

// point holds all records of one case that was timed, or could have been.
type point struct {
	records []record.Record
	sums    map[string]sum // of all points
}

// points gathers the cases of which something was timed, in the order of the records.
func points(records []record.Record) []point {
	var order []string
	byKey := map[string]*point{}
	timed := map[string]bool{}
	for _, r := range records {
		key := r.Case.Key()
		if byKey[key] == nil {
			byKey[key] = &point{}
			order = append(order, key)
		}
		byKey[key].records = append(byKey[key].records, r)
		timed[key] = timed[key] || len(r.Timings) > 0
	}
	var all []point
	shortest := sums(records)
	for _, key := range order {
		if timed[key] {
			byKey[key].sums = shortest
			all = append(all, *byKey[key])
		}
	}
	return all
}

func (p point) title() string {
	c := p.records[0].Case
	var words []string
	for _, d := range c.Dims {
		words = append(words, fmt.Sprintf("%s=%d", d.Name, d.Value))
	}
	for _, a := range c.Attrs {
		words = append(words, a.Name+"="+a.Text)
	}
	return fmt.Sprintf("%s %s %s, %s", c.Op, c.Pass, c.DType, strings.Join(words, " "))
}

// timeLine is one line of a table of times.
type timeLine struct {
	impl       string
	status     op.Status
	compared   string // the share of its elements
	timing     *record.Timing
	comparison *record.Comparison
	best       bool
	pair       *sum // if its forward was timed with it: the sum to compare with
	note       string
}

// lines returns the timings of a point, the fastest of each regime first; after them the implementations
// without one, and why.
func (p point) lines(comparisons []record.Comparison) []timeLine {
	var timed, rest []timeLine
	compared := map[[2]string]*record.Comparison{}
	best := map[[2]string]bool{}
	for i, c := range comparisons {
		if c.RunA != c.RunB {
			compared[[2]string{c.RunA, c.Regime}] = &comparisons[i]
			best[[2]string{c.RunB, c.Regime}] = true
		}
	}
	for _, r := range p.records {
		if len(r.Timings) == 0 {
			rest = append(rest, timeLine{
				impl: r.Impl, status: r.Status, compared: comparedShare(r),
				note: clean(r.Message),
			})
			continue
		}
		for i, t := range r.Timings {
			l := timeLine{
				impl: r.Impl, status: r.Status, compared: comparedShare(r), timing: &r.Timings[i],
				comparison: compared[[2]string{r.ID, t.Regime}], note: clean(t.Message),
				best: best[[2]string{r.ID, t.Regime}],
			}
			if t.Status != op.StatusPass {
				l.status = t.Status
			}
			l.sayBackward(p.sums[sizesKey(r.Case, t.Regime)])
			timed = append(timed, l)
		}
	}
	slices.SortStableFunc(timed, func(a, b timeLine) int {
		return cmp.Or(strings.Compare(a.timing.Regime, b.timing.Regime), cmp.Compare(a.order(), b.order()))
	})
	return append(timed, rest...)
}

// order sorts unusable times after usable ones.
func (l timeLine) order() float64 {
	if l.timing.Status.Weight() == op.Bad || l.timing.MedianNS <= 0 {
		return math.Inf(1)
	}
	return l.timing.MedianNS
}

// cells returns the columns after the status. An impossible or wrong time is not shown: it does not measure
// what was asked for.
func (l timeLine) cells() []string {
	t := l.timing
	if t == nil {
		return []string{"", "", "", "", "", "", "", "", "", l.note}
	}
	if t.Status.Weight() == op.Bad || t.MedianNS <= 0 {
		return []string{t.Regime, "", "", "", "", "", "", "", "", l.note}
	}
	share, clock, ratio, word := "", "", "", ""
	if t.Roofline != nil {
		share = fmt.Sprintf("%.0f %%", 100*float64(*t.Roofline))
	}
	if t.ClockMHz != nil {
		clock = fmt.Sprintf("%.0f MHz", float64(*t.ClockMHz))
	}
	if l.best {
		ratio = "1"
	}
	if c := l.comparison; c != nil {
		ratio, word = ratioWords(*c), c.SpeedVerdict
	}
	speed := rate(t)
	if l.pair != nil { // bytes, FLOPs and comparisons of the same rounds are of a backward alone
		speed, share, ratio, word = "", "", l.pair.ratio(t.MedianNS), ""
	}
	return []string{
		t.Regime, Duration(t.MedianNS), fmt.Sprintf("±%.1f %%", (t.HighNS-t.LowNS)/2/t.MedianNS*100), speed,
		share, ratio, word, clock,
		occupancy(t.Kernels), l.note,
	}
}

// ratioWords formats a ratio with its interval, "1.46 [1.450, 1.459]". Far from 1 its digits mean nothing:
// "39 x". With too few rounds for an interval, their number takes its place.
func ratioWords(c record.Comparison) string {
	switch {
	case c.Ratio >= 10:
		return fmt.Sprintf("%.0f x", c.Ratio)
	case c.SpeedVerdict == string(stats.Ambiguous) && len(c.Ratios) < stats.LeastRounds:
		return fmt.Sprintf("%.2f in %s", c.Ratio, counted(len(c.Ratios), "round"))
	}
	return fmt.Sprintf("%.2f [%.3f, %.3f]", c.Ratio, c.Low, c.High)
}

// timingWords describes a timing in one line.
func timingWords(t record.Timing) string {
	words := fmt.Sprintf("%v, %d samples", t.Status, t.N)
	if t.Status.Weight() != op.Bad && t.MedianNS > 0 {
		words = fmt.Sprintf("%s [%s, %s], %s", Duration(t.MedianNS), Duration(t.LowNS), Duration(t.HighNS),
			words)
	}
	if t.Message != "" {
		words += "; " + clean(t.Message)
	}
	return words
}

// launchWords describes a kernel launch in one line.
func launchWords(k record.Launch) string {
	return fmt.Sprintf("%s: grid %v, block %v, %d registers and %d bytes of local memory a thread, %d "+
		"bytes of shared memory a block, %d blocks a multiprocessor (%.0f %% occupied)",
		clean(k.Kernel), k.Grid, k.Block, k.Registers, k.LocalBytes, k.SharedBytes+k.DynamicSharedBytes,
		k.BlocksPerMultiprocessor, 100*k.Occupancy)
}

// occupancy lists the occupancy of each kernel of a call, in order.
func occupancy(kernels []record.Launch) string {
	var shares []string
	for _, k := range kernels {
		shares = append(shares, fmt.Sprintf("%.0f", 100*k.Occupancy))
	}
	if len(shares) == 0 {
		return ""
	}
	return strings.Join(shares, ", ") + " %"
}

// Duration formats a time in ns with four digits and a unit.
func Duration(ns float64) string {
	unit, scale := "us", 1e3
	switch {
	case ns >= 1e9:
		unit, scale = "s", 1e9
	case ns >= 1e6:
		unit, scale = "ms", 1e6
	}
	v := ns / scale
	return fmt.Sprintf("%.*f %s", max(0, 3-int(math.Floor(math.Log10(math.Max(v, 1e-3))))), v, unit)
}

// computeBound is the number of FLOPs a byte from which a rate is given in FLOP/s.
const computeBound = 50

// rate returns the bytes or FLOPs that the operator's definition requires, per second.
func rate(t *record.Timing) string {
	if t.FLOPs > computeBound*t.Bytes {
		return fmt.Sprintf("%.4g TFLOP/s", float64(t.FLOPs)/t.MedianNS/1e3)
	}
	return fmt.Sprintf("%.3f TB/s", float64(t.Bytes)/t.MedianNS/1e3)
}

// ceilingWords lists the ceilings in one line.
func ceilingWords(ceilings []record.Ceiling) string {
	var words []string
	for _, r := range ceilings {
		switch {
		case r.BytesPerSecond != nil:
			words = append(words, fmt.Sprintf("%s %.2f TB/s", r.Name, float64(*r.BytesPerSecond)/1e12))
		case r.FLOPsPerSecond != nil:
			words = append(words, fmt.Sprintf("%s product %.4g TFLOP/s", r.Name,
				float64(*r.FLOPsPerSecond)/1e12))
		}
	}
	return strings.Join(words, ", ")
}

// Markdown writes sessions for a page: the machine and versions, the ceilings, and a table for each bench
// point.
func Markdown(w io.Writer, session record.Session, records []record.Record, timed Timed) error {
	m := session.Machine
	gpu := m.GPU
	if gpu != "" {
		gpu = fmt.Sprintf("%s (%.0f GB, driver %s), ", m.GPU, float64(m.GPUMemoryBytes)/1e9, m.GPUDriver)
	}
	var versions []string
	for _, name := range slices.Sorted(maps.Keys(session.Toolchain)) {
		versions = append(versions, harmless.Markdown(name+" "+session.Toolchain[name]))
	}
	if err := write(w, fmt.Sprintf("## Session %s\n\n%s, %s\n\n%s, %d cores, %s %s\n\n%s\n\n",
		harmless.Markdown(session.ID), harmless.MarkdownCode("triad "+record.CommandLine(session.Command)),
		session.Started.UTC().Format(record.TimeFormat), harmless.Markdown(gpu+m.CPU),
		m.Cores, harmless.Markdown(m.OS), harmless.Markdown(m.Kernel),
		strings.Join(versions, ", "))); err != nil {
		return err
	}
	if words := ceilingWords(timed.Ceilings); words != "" {
		if err := write(w, "At best, measured in the session: "+words+".\n\n"); err != nil {
			return err
		}
	}
	if err := markdownVerdicts(w, records); err != nil {
		return err
	}
	for _, p := range points(records) {
		text := "### " + harmless.Markdown(p.title()) +
			"\n\n| implementation | status | regime | median | interval | rate | roofline | ratio | speed " +
			"| clock | occupancy | note |\n|---|---|---|--:|--:|--:|--:|--:|---|--:|--:|---|\n"
		for _, l := range p.lines(timed.Comparisons) {
			var cells []string
			for _, cell := range append([]string{l.impl, l.status.String()}, l.cells()...) {
				cells = append(cells, harmless.Markdown(cell))
			}
			text += "| " + strings.Join(cells, " | ") + " |\n"
		}
		if err := write(w, text+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// markdownVerdicts writes a table of how many records of each implementation are good, neutral and bad.
func markdownVerdicts(w io.Writer, records []record.Record) error {
	for _, lines := range groups(records) {
		text := fmt.Sprintf("### %s %s\n\n| implementation | dtype | status | good | neutral | bad | "+
			"headroom | max ulp |\n|---|---|---|--:|--:|--:|--:|--:|\n", harmless.Markdown(lines[0].op),
			lines[0].pass)
		for _, g := range lines {
			good, neutral, bad := g.counts()
			errorMargin, ulp := g.measures()
			text += fmt.Sprintf("| %s | %s | %s | %d | %d | %d | %s | %s |\n", harmless.Markdown(g.impl),
				harmless.Markdown(g.dtype), g.status(), good, neutral, bad, figure(errorMargin), figure(ulp))
		}
		if err := write(w, text+"\n"); err != nil {
			return err
		}
	}
	return nil
}
