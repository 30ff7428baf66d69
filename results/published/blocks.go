package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"
)

// rowOperators are judged whole at every bench point.
var rowOperators = []string{"softmax", "layernorm", "swiglu", "rope"}

// tables returns everything that is generated, by the name of its place.
func tables(p published) map[string][]string {
	all := groups(p.records)
	rows := cold(all, rowOperators...)
	flash, scaled := cold(all, "flash_attention"), cold(all, "fp8_gemm")
	plain := slices.DeleteFunc(cold(all, "gemm"),
		func(g group) bool { return g.dtype == "fp32" }) // which the ladder shows
	roof := share{title: "share of the roofline (CUDA)", of: roofline}
	return map[string][]string{
		"machine":   machines(p),
		"rulers":    ceilings(p),
		"rows":      timesTable(rows, rowTable, roof),
		"attention": timesTable(flash, attention, share{title: "share of cuDNN's rate", of: ofVendor}),
		"products": timesTable(scaled, products, share{title: "share of cuBLASLt's rate", of: ofVendor},
			share{title: "with fast sums", of: ofVendorFast, optional: true}),
		"gemm":       timesTable(plain, matrices, share{title: "share of cuBLAS's rate", of: ofVendor}),
		"ladder":     ladder(p.records),
		"order":      programOrder(p),
		"catalogue":  timesTable(others(all), rowTable, roof),
		"standing":   standings(all),
		"short":      shortOf(all),
		"under load": underLoad(all, p),
		"goals":      goals(all),
		"words":      words(p),
		"compared":   compared(p.records),
		"verdicts":   verdicts(p.records),
		"figures":    figureTable(p),
		"database":   databaseTable(p.database),
	}
}

// others returns the groups of the operators that have no table of their own, timed cold and in turns.
func others(all []group) []group {
	own := append([]string{"flash_attention", "fp8_gemm", "gemm"}, rowOperators...)
	return slices.DeleteFunc(slices.Clone(all),
		func(g group) bool { return g.regime != "cold" || slices.Contains(own, g.op) })
}

var place = regexp.MustCompile(`(?s)<!-- begin: ([a-z ]+) -->\n.*?<!-- end: ([a-z ]+) -->`)

// fill puts every table of a page into its place.
func fill(page string, tables map[string][]string) (string, error) {
	var wrong error
	filled := place.ReplaceAllStringFunc(page, func(old string) string {
		names := place.FindStringSubmatch(old)
		lines, known := tables[names[1]]
		if !known || names[1] != names[2] {
			wrong = fmt.Errorf("the place %q that ends as %q: want one of %s", names[1], names[2],
				strings.Join(slices.Sorted(maps.Keys(tables)), ", "))
			return old
		}
		return fmt.Sprintf("<!-- begin: %s -->\n%s\n<!-- end: %s -->", names[1],
			strings.Join(folded(lines), "\n"), names[1])
	})
	return filled, wrong
}

// widest is the width of a line of Markdown, in columns.
const widest = 120

// folded wraps sentences and list items to at most widest columns. Tables are unchanged.
func folded(lines []string) []string {
	var all []string
	for _, line := range lines {
		words, item := strings.CutPrefix(line, "* ")
		switch {
		case strings.HasPrefix(line, "|"):
			all = append(all, line)
			continue
		case !item:
			for _, part := range strings.Split(text.WrapSoft(line, widest), "\n") {
				all = append(all, strings.TrimRight(part, " "))
			}
			continue
		}
		for i, part := range strings.Split(text.WrapSoft(words, widest-2), "\n") {
			all = append(all, []string{"* ", "  "}[min(i, 1)]+strings.TrimRight(part, " "))
		}
	}
	return all
}

// machines lists where the sessions ran, each machine once.
func machines(p published) []string {
	var all []string
	for _, s := range p.sessions {
		m := s.Machine
		line := fmt.Sprintf("%s (%.1f GB, driver %s), %s, %d cores", m.GPU, m.GPUMemory/1e9, m.GPUDriver,
			m.CPU, m.Cores)
		var versions []string
		for _, name := range []string{
			"torch", "triton", "cudnn", "python", "liger-kernel", "quack-kernels",
			"flash-attn-4",
		} {
			if v := s.Toolchain[name]; v != "" {
				versions = append(versions, name+" "+v)
			}
		}
		if len(versions) > 0 {
			line += "; " + strings.Join(versions, ", ")
		}
		if line = "* " + line; !slices.Contains(all, line) {
			all = append(all, line)
		}
	}
	if len(all) == 0 {
		return []string{"The machine was not recorded with this session."}
	}
	return all
}

// ceilings lists the device's peak rates, the lowest and the highest of all commands.
func ceilings(p published) []string {
	least, most, unit := map[string]float64{}, map[string]float64{}, map[string]string{}
	var names []string
	for _, s := range p.sessions {
		for _, r := range s.Ceilings {
			v := 0.0
			switch {
			case r.Bytes != nil:
				v, unit[r.Name] = *r.Bytes/1e12, "TB/s"
			case r.FLOPs != nil:
				v, unit[r.Name] = *r.FLOPs/1e12, "TFLOP/s"
			default:
				continue
			}
			if !slices.Contains(names, r.Name) {
				names = append(names, r.Name)
				least[r.Name] = v
			}
			least[r.Name], most[r.Name] = math.Min(least[r.Name], v), math.Max(most[r.Name], v)
		}
	}
	if len(names) == 0 {
		return []string{"Ceilings were not recorded with this session."}
	}
	slices.Sort(names)
	out := []string{"| ceiling | least of all commands | most |", "|---|--:|--:|"}
	for _, n := range names {
		digits := 0
		if unit[n] == "TB/s" {
			digits = 2
		}
		out = append(out, fmt.Sprintf("| %s | %.*f %s | %.*f %s |", n, digits, least[n], unit[n], digits,
			most[n], unit[n]))
	}
	return out
}

// goals counts the rows that reach each goal, and names those that do not.
func goals(all []group) []string {
	var roof, vendor, backward tally
	for _, g := range cold(steady(all), append([]string{"flash_attention", "fp8_gemm"}, rowOperators...)...) {
		if first, there := g.best(cuda); there && slices.Contains(rowOperators, g.op) &&
			first.Roofline != nil {
			roof.add(*first.Roofline >= 0.85, fmt.Sprintf("%s (%.0f %%)", g.title(), *first.Roofline*100))
		}
		if ours, there := g.best(hopper); there {
			if theirs, is := g.best(vendorOf(g)); is {
				share := theirs.MedianNS / ours.MedianNS
				vendor.add(share >= 0.5, fmt.Sprintf("%s (%.0f %%)", g.title(), share*100))
			}
		}
		if first, there := g.best(cuda); there && g.op == "layernorm" && g.pass == "backward" {
			best := math.Inf(1)
			for _, f := range []family{eager, compiled} {
				if r, is := g.best(f); is {
					best = math.Min(best, r.MedianNS)
				}
			}
			if !math.IsInf(best, 0) {
				backward.add(best/first.MedianNS >= 1.5, fmt.Sprintf("%s (%.2f)", g.title(),
					best/first.MedianNS))
			}
		}
	}
	return []string{
		"* Row and pointwise operators, 85 % of the roofline: " + roof.words(),
		"* Attention and products, half of the vendor's rate: " + vendor.words(),
		"* layernorm's backward, 1.5 times as fast as the best of torch and torch.compile: " +
			backward.words(),
	}
}

// tally counts rows that reach a goal.
type tally struct {
	n, reached int
	short      []string
}

func (t *tally) add(reached bool, name string) {
	t.n++
	if reached {
		t.reached++
		return
	}
	t.short = append(t.short, name)
}

func (t tally) words() string {
	if t.n == 0 {
		return "nothing of this is recorded."
	}
	text := fmt.Sprintf("reached by %d of %d rows", t.reached, t.n)
	if len(t.short) > 0 {
		text += "; **fell short**: " + strings.Join(t.short, ", ")
	}
	return text + "."
}

// words counts the words of ratios, and those of implementations compared with themselves.
func words(p published) []string {
	count, noise := map[string]int{}, map[string]int{}
	widest, far := 0.0, 0
	for _, s := range p.sessions {
		for _, c := range s.Comparisons {
			if c.RunA == c.RunB {
				noise[c.SpeedVerdict]++
				widest = math.Max(widest, math.Max(c.High-1, 1-c.Low))
				continue
			}
			count[c.SpeedVerdict]++
			if c.beyond() && c.SpeedVerdict == "AMBIGUOUS" {
				far++
			}
		}
	}
	if len(count)+len(noise) == 0 {
		return []string{"Ratios were not recorded with this session."}
	}
	return []string{
		fmt.Sprintf("Ratios to the fastest of their case: %s; %d AMBIGUOUS outside [0.9, 1.1].",
			counts(count), far),
		fmt.Sprintf("One implementation of each case compared with itself: %s; the widest interval reaches "+
			"%.1f %% from 1.", counts(noise), widest*100),
	}
}

// beyond reports whether a ratio's whole interval lies outside [0.9, 1.1].
func (c comparison) beyond() bool { return c.Low > 1.1 || c.High < 0.9 }

func counts(n map[string]int) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(n)) {
		words = append(words, fmt.Sprintf("%d %s", n[name], name))
	}
	return strings.Join(words, ", ")
}

// compared lists which share of the elements of the timed cases was compared, the lowest and the highest of
// an operator's records.
func compared(records []record) []string {
	out := []string{"| operator | timed records | share of the elements compared |", "|---|--:|--:|"}
	for _, op := range append(slices.Clone(rowOperators), "fp8_gemm", "flash_attention") {
		n, least, most := 0, math.Inf(1), 0.0
		for _, r := range records {
			if r.Op != op || r.Timing == nil {
				continue
			}
			n++
			for _, o := range r.Outputs {
				if o.N > 0 && o.Status != "MISSING" {
					share := float64(o.Compared) / float64(o.N)
					least, most = math.Min(least, share), math.Max(most, share)
				}
			}
		}
		if n == 0 {
			continue
		}
		text := percent(least)
		if percent(most) != text {
			text += " to " + percent(most)
		}
		out = append(out, fmt.Sprintf("| %s | %d | %s |", op, n, text))
	}
	return out
}

// percent formats a share with three digits, and at most 99.9 % unless it is all.
func percent(share float64) string {
	if share == 1 {
		return "100 %"
	}
	return fmt.Sprintf("%.3g %%", math.Min(share*100, 99.9))
}

// weights maps statuses to how they count: docs/json.md has the table.
var weights = map[string]string{
	"PASS": "good", "WARN": "good", "KNOWN": "known", "DIFFERENT_CONTRACT": "neutral", "EMPTY_OK": "neutral",
	"NO_POWER":    "neutral",
	"UNSUPPORTED": "neutral", "MISSING": "neutral", "SKIPPED": "neutral", "UNAVAILABLE": "neutral",
	"INTERRUPTED": "neutral", "UNSTABLE": "neutral", "NOT_UNDERSTOOD": "neutral",
}

// verdicts counts the records of each operator and pass.
func verdicts(records []record) []string {
	type key struct{ op, pass string }
	n := map[key]map[string]int{}
	total := map[string]int{}
	for _, r := range records {
		k, w := key{r.Op, r.Pass}, weights[r.Status]
		if w == "" {
			w = "bad"
		}
		if n[k] == nil {
			n[k] = map[string]int{}
		}
		n[k][w]++
		total[w]++
	}
	columns := []string{"good", "neutral", "bad"}
	if total["known"] > 0 {
		columns = []string{"good", "neutral", "known", "bad"}
	}
	line := func(name string, n map[string]int) string {
		for _, c := range columns {
			name += fmt.Sprintf(" | %d", n[c])
		}
		return "| " + name + " |"
	}
	out := []string{"| operator, pass | " + strings.Join(columns, " | ") + " |", "|---|" +
		strings.Repeat("--:|", len(columns))}
	for _, k := range slices.SortedFunc(maps.Keys(n),
		func(a, b key) int { return strings.Compare(a.op+a.pass, b.op+b.pass) }) {
		out = append(out, line(k.op+", "+k.pass, n[k]))
	}
	return append(out, line("together", total))
}

// decode reads a figure; a missing one leaves the target unchanged.
func (p published) decode(name string, into any) bool {
	text, there := p.figures[name]
	return there && json.Unmarshal(text, into) == nil
}
