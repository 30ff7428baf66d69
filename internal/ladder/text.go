package ladder

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// worthTelling is the smallest ratio of two counts that the text mentions.
const worthTelling = 1.2

// difference is a measure in which one kernel is better than another, in words for both.
type difference struct {
	better, worse string
}

// better returns in what the first kernel is better than the second, re-reads first. That only a part of a
// warp runs some code is no difference: nvcc runs short branches with all lanes.
func (l Ladder) better(first, second Traffic) []difference {
	a, b := l.measuresOf(first), l.measuresOf(second)
	input := "its inputs"
	if l.Input != "" {
		input = l.Input
	}
	var all []difference
	add := func(by float64, words func(m measures) string) {
		if by >= worthTelling {
			all = append(all, difference{words(a), words(b)})
		}
	}
	over := func(x, y float64) float64 { return (x + 0.01) / (y + 0.01) }
	add(over(b.reads, a.reads), func(m measures) string { return "reads " + input + " " + times(m.reads) })
	add(over(b.writes, a.writes), func(m measures) string { return "writes each output " + times(m.writes) })
	add(over(b.sectors, a.sectors), func(m measures) string {
		return fmt.Sprintf("touches %.1f sectors for each that its bytes need", m.sectors)
	})
	add(over(b.wavefronts, a.wavefronts), func(m measures) string {
		return fmt.Sprintf("needs %.1f wavefronts of shared memory for 1 (bank conflicts)", m.wavefronts)
	})
	add(over(a.width, b.width), func(m measures) string {
		return fmt.Sprintf("moves %.0f bytes an access", m.width)
	})
	return all
}

// times returns how often in words.
func times(n float64) string {
	switch {
	case n > 0.9 && n < 1.1:
		return "once"
	case n > 1.9 && n < 2.1:
		return "twice"
	}
	return fmt.Sprintf("%.3g times", n)
}

// Place returns where a kernel stands, in one line.
func (l Ladder) Place(t Traffic) string {
	at := l.Nearest(t)
	next, found := l.Next(t, at)
	if !found {
		return fmt.Sprintf("counted like %s, which no variant of triad's betters by its counts%s (an "+
			"estimate)",
			at.Impl, l.published(at))
	}
	all := l.better(next.Traffic, t)
	var mine, theirs []string
	for _, d := range all[:min(2, len(all))] {
		mine, theirs = append(mine, d.worse), append(theirs, d.better)
	}
	return fmt.Sprintf("counted like %s: it %s; %s%s %s%s (an estimate)", at.Impl, strings.Join(mine,
		" and "),
		next.Impl, next.what(), strings.Join(theirs, " and "), l.published(next))
}

// PlaceOfBytes returns, in one line, how often a kernel moves each byte, and the fastest published of
// the variants that move the fewest: of a kernel of Triton no more is counted without a GPU.
func (l Ladder) PlaceOfBytes(t Traffic) string {
	mine := l.measuresOf(t)
	least := slices.MinFunc(l.Variants, func(a, b Variant) int {
		x, y := l.measuresOf(a.Traffic), l.measuresOf(b.Traffic)
		return cmp.Or(cmp.Compare(x.reads+x.writes, y.reads+y.writes),
			cmp.Compare(min(b.MedianNS, 1), min(a.MedianNS, 1)), cmp.Compare(a.MedianNS, b.MedianNS))
	})
	best := l.measuresOf(least.Traffic)
	if mine.reads+mine.writes < worthTelling*(best.reads+best.writes) {
		return fmt.Sprintf("it %s, masked lanes left out; no CUDA variant of triad's moves much less "+
			"(an estimate)", l.Moved(t))
	}
	return fmt.Sprintf("it %s, masked lanes left out; %s%s %s%s (an estimate)", l.Moved(t), least.Impl,
		least.what(), l.Moved(least.Traffic), l.published(least))
}

// Moved describes the number of times that a kernel moves each byte: "reads x once and writes each output
// once".
func (l Ladder) Moved(t Traffic) string {
	m, input := l.measuresOf(t), "its inputs"
	if l.Input != "" {
		input = l.Input
	}
	return fmt.Sprintf("reads %s %s and writes each output %s", input, times(m.reads), times(m.writes))
}

// OnGPU returns where a kernel stands by its time on a case, in one line: its share of the roofline, 0 if
// that is unknown, the ratio of its time to those of the others on the same case, the fastest first, and
// the next variant with what it does.
func (l Ladder) OnGPU(ns, roofline float64, others []Other) string {
	var parts []string
	if roofline > 0 {
		parts = append(parts, fmt.Sprintf("%.0f %% of the roofline", 100*roofline))
	}
	others = slices.SortedFunc(slices.Values(others), func(a, b Other) int {
		return cmp.Compare(a.MedianNS, b.MedianNS)
	})
	var ratios []string
	var next Other
	for _, o := range others {
		ratios = append(ratios, fmt.Sprintf("%.2f x %s", ns/o.MedianNS, o.Impl))
		if strings.HasPrefix(o.Impl, "cuda/") && o.MedianNS < ns && o.MedianNS > next.MedianNS {
			next = o
		}
	}
	if len(ratios) > 0 {
		parts = append(parts, "its time is "+strings.Join(ratios, ", "))
	}
	if next.Impl != "" {
		i := slices.IndexFunc(l.Variants, func(r Variant) bool { return r.Impl == next.Impl })
		what := ""
		if i >= 0 {
			what = l.Variants[i].what()
		}
		parts = append(parts, "next: "+next.Impl+what)
	}
	return strings.Join(parts, "; ")
}

// what returns what a variant does, in brackets; "" if that is not known.
func (r Variant) what() string {
	if r.What == "" {
		return ""
	}
	return " (" + r.What + ")"
}

// published returns the published time of a variant in words; "" for none.
func (l Ladder) published(r Variant) string {
	if r.MedianNS == 0 {
		return ""
	}
	return fmt.Sprintf(": %s of the published %s in %s on an %s", duration(r.MedianNS), l.BenchSizes,
		l.BenchDType, l.GPU)
}

func duration(ns float64) string {
	d := time.Duration(ns)
	switch {
	case d < time.Microsecond:
		return fmt.Sprintf("%.0f ns", ns)
	case d < time.Millisecond:
		return fmt.Sprintf("%.1f us", ns/1e3)
	}
	return fmt.Sprintf("%.2f ms", ns/1e6)
}

// Header names the columns of Rows.
var Header = []string{
	"kernel", "reads", "writes", "sectors", "wavefronts", "part runs", "bytes an access", "shared",
	"published",
}

// Rows returns the counts of a kernel and of all variants, slowest first, for a table: reads and writes of
// each byte, sectors and wavefronts for each that is needed, the share of runs with a part of the warp, bytes
// of shared memory of a block, and the published time.
func (l Ladder) Rows(impl string, t Traffic) [][]string {
	row := func(impl string, t Traffic, ns float64) []string {
		m := l.measuresOf(t)
		shared := ""
		if t.LeastWavefronts > 0 {
			shared = fmt.Sprintf("%.2f", m.wavefronts)
		}
		time := ""
		if ns > 0 {
			time = duration(ns)
		}
		return []string{
			impl, fmt.Sprintf("%.2f", m.reads), fmt.Sprintf("%.2f", m.writes), fmt.Sprintf("%.2f", m.sectors),
			shared, fmt.Sprintf("%.0f %%", 100*m.parts), fmt.Sprintf("%.1f", m.width),
			fmt.Sprint(t.SharedBytes), time,
		}
	}
	variants := slices.Clone(l.Variants)
	slices.SortStableFunc(variants, func(a, b Variant) int {
		switch {
		case a.MedianNS == b.MedianNS:
			return 0
		case a.MedianNS == 0 || b.MedianNS != 0 && a.MedianNS > b.MedianNS:
			return -1
		}
		return 1
	})
	rows := [][]string{row(impl, t, 0)}
	for _, r := range variants {
		rows = append(rows, row(r.Impl, r.Traffic, r.MedianNS))
	}
	return rows
}

// Case names the case that was counted.
func (l Ladder) Case() string {
	words := []string{l.DType}
	for _, name := range slices.Sorted(maps.Keys(l.Dims)) {
		words = append(words, fmt.Sprintf("%s=%d", name, l.Dims[name]))
	}
	return strings.Join(words, " ")
}
