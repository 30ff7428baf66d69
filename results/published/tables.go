package main

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"triad/internal/catalog"
	"triad/internal/report"
)

// clocksDiffer is the largest difference of two clocks, as a share, that a table does not note.
const clocksDiffer = 0.01

// family is a column of a table: the fastest of its implementations stands there.
type family struct {
	title string
	impls []string // names, or prefixes that end in "/"
	but   string   // the prefix of those that are left out
}

func (f family) has(impl string) bool {
	if f.but != "" && strings.HasPrefix(impl, f.but) {
		return false
	}
	return slices.ContainsFunc(f.impls, func(name string) bool {
		return impl == name || strings.HasSuffix(name, "/") && strings.HasPrefix(impl, name)
	})
}

const tritonFastName = "triton/persistent_fast"

var (
	cuda     = family{title: "best CUDA", impls: []string{"cuda/"}, but: "cuda/cub"} // of our own
	triton   = family{title: "best Triton", impls: []string{"triton/"}}
	eager    = family{title: "torch eager", impls: []string{"torch/eager"}}
	compiled = family{title: "torch.compile", impls: []string{"torch/compile"}}
	liger    = family{title: "Liger-Kernel", impls: []string{"liger/"}}
	quack    = family{title: "quack-kernels", impls: []string{"quack/"}}
	hopper   = family{title: "our Hopper variant", impls: []string{"cuda/sm90_tma", "cuda/sm90_wgmma"}}
	ampere   = family{title: "our Ampere variant", impls: []string{"cuda/sm80_mma"}}
	cudnn    = family{title: "cuDNN", impls: []string{"torch/cudnn"}}
	flash    = family{title: "FlashAttention-2 in torch", impls: []string{"torch/flash"}}
	flash4   = family{title: "flash-attn-4", impls: []string{"fa4/"}}
	promoted = family{title: "cuBLASLt, promoted sums", impls: []string{"torch/scaled_mm"}}
	fast     = family{title: "cuBLASLt, fast sums", impls: []string{"torch/scaled_mm_fast"}}

	tritonPromoted = family{title: "Triton", impls: []string{"triton/"}, but: tritonFastName}
	tritonFast     = family{title: "Triton, fast sums", impls: []string{tritonFastName}}
	hopperFast     = family{title: "CUDA, fast sums", impls: []string{"cuda/sm90_tma_fast"}}

	cublas   = family{title: "cuBLAS", impls: []string{"cuda/cublas"}}
	cublasLt = family{title: "cuBLASLt", impls: []string{"cuda/cublaslt"}}

	dequantised = family{title: "torch, dequantised", impls: []string{"torch/dequant"}}

	rowTable  = []family{cuda, triton, cublas, eager, compiled, liger, quack}
	attention = []family{hopper, ampere, triton, cudnn, flash, flash4}
	products  = []family{hopper, tritonPromoted, promoted, hopperFast, tritonFast, fast}
	matrices  = []family{hopper, ampere, triton, cublas, cublasLt, eager}
)

// group holds the timings of one case in one regime by one command: the candidates for one row.
type group struct {
	op, pass, dtype, shape, regime string
	session, started               string
	order                          []int64
	rows                           []row
}

// passes are in this order in a table.
var passes = map[string]int{"forward": 0, "backward": 1, pair: 2}

// row is one implementation of a group.
type row struct {
	impl, id, status string
	timing
}

func (r row) clock() float64 {
	if r.ClockMHz == nil {
		return 0
	}
	return *r.ClockMHz
}

// direction returns the pass of a timing. A backward whose forward ran within the call is a pass of its own;
// before records held this, every backward of torch's autograd was timed so.
func direction(r record, t timing) string {
	told := t.Backward != nil
	if told && *t.Backward == pair ||
		!told && r.Pass == "backward" && ofAny(r.Impl, family{impls: []string{"torch/"}}) &&
			!ofAny(r.Impl, promoted, fast, dequantised) {
		return pair
	}
	return r.Pass
}

// ofAny reports whether an implementation belongs to one of these families.
func ofAny(impl string, families ...family) bool {
	return slices.ContainsFunc(families, func(f family) bool { return f.has(impl) })
}

// groups gathers the timings, unstable ones too. Of several commands that timed a case in a regime only one
// counts, as a whole: the one with the most implementations, then the latest.
func groups(records []record) []group {
	type key struct{ of, pass, regime, session string }
	found := map[key]*group{}
	for _, r := range records {
		for _, t := range r.times() {
			if t.Status != "PASS" && (t.Status != unstable || t.MedianNS == 0) {
				continue
			}
			k := key{r.Case, direction(r, t), t.Regime, r.Session}
			if found[k] == nil {
				found[k] = &group{
					op: r.Op, pass: k.pass, dtype: r.DType, shape: shape(r), regime: t.Regime,
					session: r.Session, started: r.Started, order: order(r),
				}
			}
			found[k].rows = append(found[k].rows, row{r.Impl, r.ID, r.Status, t})
		}
	}
	chosen := map[key]group{}
	for k, g := range found {
		k.session = ""
		if old, there := chosen[k]; !there || cmp.Or(cmp.Compare(len(g.rows), len(old.rows)),
			cmp.Compare(g.started, old.started)) > 0 {
			chosen[k] = *g
		}
	}
	all := slices.Collect(maps.Values(chosen))
	for i := range all {
		all[i].addSums(all)
	}
	slices.SortFunc(all, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(passes[a.pass], passes[b.pass]),
			slices.Compare(a.order, b.order), cmp.Compare(a.shape, b.shape),
			cmp.Compare(a.dtype, b.dtype), cmp.Compare(a.regime, b.regime),
			cmp.Compare(a.rows[0].id, b.rows[0].id)) // two layouts of one shape
	})
	return all
}

// addSums adds rows to a group whose backwards were timed with their forwards: for each family that was only
// timed in both passes separately, the sum of the two.
func (g *group) addSums(all []group) {
	if g.pass != pair {
		return
	}
	both := map[string]group{}
	for _, o := range all {
		if o.op == g.op && o.dtype == g.dtype && o.shape == g.shape && o.regime == g.regime &&
			o.session == g.session {
			both[o.pass] = o
		}
	}
	for _, f := range slices.Concat(rowTable, attention, products) {
		if _, timed := g.best(f); timed {
			continue
		}
		forward, one := both["forward"].best(f)
		backward, other := both["backward"].best(f)
		if !one || !other {
			continue
		}
		sum := forward
		sum.MedianNS, sum.FLOPs, sum.Roofline = forward.MedianNS+backward.MedianNS, forward.FLOPs+
			backward.FLOPs, nil
		if backward.Mode == "events" {
			sum.Mode = "events"
		}
		g.rows = append(g.rows, sum)
	}
}

// order returns the sizes of a case, by which rows are sorted.
func order(r record) []int64 {
	var all []int64
	for _, name := range slices.Sorted(maps.Keys(r.Dims)) {
		all = append(all, r.Dims[name])
	}
	return all
}

// shape describes a case in few words.
func shape(r record) string {
	d := r.Dims
	switch r.Op {
	case "flash_attention":
		heads := fmt.Sprintf("%d x %d heads", d["batch"], d["heads_q"])
		if d["heads_kv"] != d["heads_q"] {
			heads += fmt.Sprintf(" on %d", d["heads_kv"])
		}
		words := fmt.Sprintf("%s, %d x %d, %d", heads, d["seq_q"], d["seq_kv"], d["head_dim"])
		if v := d["head_dim_v"]; v > 0 && v != d["head_dim"] {
			words += fmt.Sprintf(" and %d", v)
		}
		if r.Attributes["causal"] == "true" {
			words += ", causal"
		}
		return words
	case "fp8_gemm":
		return product(d) + ", one scale a " + r.Attributes["scaling"]
	case "gemm":
		return product(d) + ", " + r.DType
	case "rope":
		return fmt.Sprintf("%d x (%d + %d) x %d", d["batch"]*d["seq"], d["heads_q"],
			d["heads_k"], d["head_dim"])
	}
	if len(d) == 2 && d["cols"] > 0 {
		return fmt.Sprintf("%d x %d", d["rows"], d["cols"]) + dtypeOf(r)
	}
	var words []string
	for _, name := range slices.Sorted(maps.Keys(d)) {
		words = append(words, fmt.Sprintf("%s %d", name, d[name]))
	}
	return strings.Join(words, ", ") + dtypeOf(r)
}

// product describes the shape of a matrix product.
func product(d map[string]int64) string {
	if d["m"] == d["n"] && d["n"] == d["k"] {
		return fmt.Sprintf("%d cubed", d["m"])
	}
	return fmt.Sprintf("%d x %d x %d", d["m"], d["n"], d["k"])
}

// dtypeOf names the dtype of a record whose table has several, and the attributes that are not the default.
func dtypeOf(r record) string {
	if slices.Contains(rowOperators, r.Op) {
		return ""
	}
	words := ", " + r.DType
	o, err := catalog.Get(r.Op)
	if err != nil {
		return words // an operator that no longer exists
	}
	for _, a := range o.Spec.Attributes {
		v := r.Attributes[a.Name]
		number, notOne := strconv.ParseFloat(v, 64)
		text := fmt.Sprint(a.Default)
		usual, _ := strconv.ParseFloat(text, 64)
		switch {
		case v == "" || v == "false" || v == text || notOne == nil && number == usual:
		case v == "true":
			words += ", " + a.Name
		default:
			words += ", " + a.Name + " " + v
		}
	}
	return words
}

// best returns the fastest of a family; false if none was timed.
func (g group) best(f family) (row, bool) {
	var best row
	for _, r := range g.rows {
		if f.has(r.impl) && (best.impl == "" || r.MedianNS < best.MedianNS) {
			best = r
		}
	}
	return best, best.impl != ""
}

// differ reports whether two clocks are known and differ.
func differ(a, b row) bool {
	return a.clock() > 0 && b.clock() > 0 && math.Abs(a.clock()/b.clock()-1) > clocksDiffer
}

// otherContract marks a time of a row that satisfies only another contract.
const otherContract = "†"

// cell returns the text of an implementation in a table: its time, or its rate in TFLOP/s, with its clock if
// that differs from the row's first, otherContract, swaying, and * if it includes the host's time.
func (g group) cell(f family, first row) string {
	r, there := g.best(f)
	if !there {
		return ""
	}
	return g.text(r, first)
}

// text returns what a table says of a row of the group; see cell.
func (g group) text(r, first row) string {
	text := report.Duration(r.MedianNS)
	if g.op == "fp8_gemm" || g.op == "gemm" {
		text = fmt.Sprintf("%.0f", r.FLOPs/r.MedianNS/1e3)
	}
	if r.status == "DIFFERENT_CONTRACT" {
		text += otherContract
	}
	if r.Status == unstable {
		text += swaying
	}
	if r.Mode == "events" {
		text += "*"
	}
	if differ(r, first) {
		text += fmt.Sprintf(" at %.0f MHz", r.clock())
	}
	return text
}

// title names a row.
func (g group) title() string {
	name := g.op
	if g.op == "flash_attention" {
		name = "attention"
	}
	return fmt.Sprintf("%s %s %s", name, g.pass, g.shape)
}

// share is a column with a share that a row's first implementation reaches; an optional one that no row has
// is left out.
type share struct {
	title    string
	of       func(group, row) string
	optional bool
}

// timesTable returns a table of the cold times of groups, without empty columns. A last column names the rows
// that are the fastest of none, so that every timed row is shown.
func timesTable(all []group, families []family, shares ...share) []string {
	families = slices.DeleteFunc(slices.Clone(families), func(f family) bool {
		return !slices.ContainsFunc(all, func(g group) bool { _, there := g.best(f); return there })
	})
	if len(families) == 0 {
		return []string{"Nothing of this is recorded."}
	}
	header := "| operator |"
	if slices.ContainsFunc(all, func(g group) bool { return g.op == "fp8_gemm" || g.op == "gemm" }) {
		header = "| operator, TFLOP/s |"
	}
	for _, f := range families {
		header += " " + f.title + " |"
	}
	shares = slices.DeleteFunc(slices.Clone(shares), func(s share) bool {
		return s.optional && !slices.ContainsFunc(all, func(g group) bool {
			first, there := g.best(families[0])
			return there && s.of(g, first) != ""
		})
	})
	for _, s := range shares {
		header += " " + s.title + " |"
	}
	out := []string{
		header + " clock, MHz | other rows |",
		"|---|" + strings.Repeat("--:|", len(families)+len(shares)+1) + "---|",
	}
	for _, g := range all {
		first, there := g.best(families[0])
		reference := first // whose clock the others are compared with
		for i := 1; !there && i < len(families); i++ {
			reference, there = g.best(families[i])
		}
		if !there {
			reference = g.rows[0]
		}
		line := "| " + g.title() + " |"
		for _, f := range families {
			line += " " + g.cell(f, reference) + " |"
		}
		for _, s := range shares {
			line += " " + s.of(g, first) + " |"
		}
		out = append(out, fmt.Sprintf("%s %.0f | %s |", line, reference.clock(), g.rest(families, reference)))
	}
	for _, mark := range []struct{ sign, means string }{
		{otherContract, "another contract."},
		{swaying, "UNSTABLE: the time or the clock swayed, and no comparison counts it."},
		{"*", "timed between events, the host's time included, where no graph could capture the calls."},
	} {
		if slices.ContainsFunc(out, func(line string) bool { return strings.Contains(line, mark.sign) }) {
			out = append(out, "", mark.sign+" "+mark.means)
		}
	}
	return out
}

// roofline returns the share of the roofline by the ceilings of the same command.
func roofline(_ group, first row) string {
	if first.Roofline == nil {
		return ""
	}
	return fmt.Sprintf("%.0f %%", *first.Roofline*100)
}

// ofVendor returns the share of the vendor's rate: at the same sizes, in the same command, with a note if the
// clocks differ.
func ofVendor(g group, first row) string {
	return ofRate(g, first, vendorOf(g))
}

// ofVendorFast returns the same for products that are summed in the tensor cores only.
func ofVendorFast(g group, _ row) string {
	first, there := g.best(hopperFast)
	if !there {
		return ""
	}
	return ofRate(g, first, fast)
}

func ofRate(g group, first row, of family) string {
	vendor, there := g.best(of)
	if !there || first.MedianNS == 0 || first.Status == unstable || vendor.Status == unstable {
		return ""
	}
	text := fmt.Sprintf("%.0f %%", vendor.MedianNS/first.MedianNS*100)
	if differ(vendor, first) {
		text += ", clocks differ"
	}
	return text
}

func vendorOf(g group) family {
	switch g.op {
	case "fp8_gemm":
		return promoted
	case "gemm":
		return cublas
	}
	return cudnn
}

// cold returns the groups of operators, timed cold and in turns.
func cold(all []group, ops ...string) []group {
	return slices.DeleteFunc(slices.Clone(all),
		func(g group) bool { return g.regime != "cold" || !slices.Contains(ops, g.op) })
}

// underLoad returns the table of timings after rests, or after seconds of the same call: clocks there follow
// from power, and every row shows its own.
func underLoad(all []group, s published) []string {
	out := []string{
		"| operator | regime | implementation | median | ratio to the fastest | speed | clock |",
		"|---|---|---|--:|--:|---|--:|",
	}
	for _, g := range steady(all) {
		if !strings.Contains(g.regime, "sustained") && !strings.Contains(g.regime, "burst") {
			continue
		}
		rows := slices.SortedFunc(slices.Values(g.rows),
			func(a, b row) int { return cmp.Compare(a.MedianNS, b.MedianNS) })
		for i, r := range rows {
			ratio, word := "1", ""
			if i > 0 {
				ratio = fmt.Sprintf("%.2f", r.MedianNS/rows[0].MedianNS)
				if c, said := s.comparisonOf(g.session, r.id, g.regime); said {
					ratio, word = ratioWords(c), c.SpeedVerdict
				}
			}
			text := report.Duration(r.MedianNS)
			if g.op == "fp8_gemm" {
				text += fmt.Sprintf(", %.0f TFLOP/s", r.FLOPs/r.MedianNS/1e3)
			}
			out = append(out, fmt.Sprintf("| %s | %s | %s | %s | %s | %s | %.0f MHz |", g.title(), g.regime,
				r.impl, text, ratio, word, r.clock()))
		}
	}
	if len(out) == 2 {
		return []string{"Nothing of this is recorded."}
	}
	return out
}

// comparisonOf returns a session's comparison of a record with the fastest.
func (p published) comparisonOf(id, run, regime string) (comparison, bool) {
	for _, s := range p.sessions {
		if s.ID != id {
			continue
		}
		for _, c := range s.Comparisons {
			if c.RunA == run && c.RunB != run && c.Regime == regime {
				return c, true
			}
		}
	}
	return comparison{}, false
}

// ratioWords returns a ratio as triad prints it.
func ratioWords(c comparison) string {
	if c.Ratio >= 10 {
		return fmt.Sprintf("%.0f x", c.Ratio)
	}
	return fmt.Sprintf("%.2f [%.3f, %.3f]", c.Ratio, c.Low, c.High)
}
