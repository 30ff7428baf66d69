package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/resultdiff"
)

// answer returns the conclusion of the page in sentences, the most important first.
func (p Page) answer() (sentences []string, wrong bool) {
	if p.Diff != nil {
		return p.diffAnswer()
	}
	if len(p.Records) == 0 {
		return []string{cmp.Or(p.Nothing, "Nothing is recorded.")}, false
	}
	sentences = p.whyAnswer()
	var right []string
	for _, records := range byOperator(p.Records) {
		sentence, bads := operatorAnswer(records)
		if bads {
			wrong = true
			sentences = append(sentences, sentence)
		} else {
			right = append(right, sentence)
		}
	}
	if len(right) > 3 {
		right = []string{fmt.Sprintf("Nothing is wrong with %s.", counted(len(right), "other operator"))}
		if !wrong {
			right[0] = strings.Replace(right[0], "other ", "", 1)
		}
	}
	sentences = append(sentences, right...)
	timed, gpu, elsewhere := p.ofLastGPU()
	sentences = append(sentences, fastest(timed)...)
	if elsewhere > 0 {
		const words = "Times are those of %s; %s on another GPU are not shown."
		sentences = append(sentences, fmt.Sprintf(words, gpu, counted(elsewhere, "timed run")))
	}
	if p.Left > 0 {
		const words = "%s more than are shown here: what is wrong is shown first."
		sentences = append(sentences, fmt.Sprintf(words, counted(p.Left, "run")))
	}
	return sentences, wrong
}

// byOperator groups records by operator, in the order in which operators occur.
func byOperator(records []record.Record) [][]record.Record {
	var all [][]record.Record
	at := map[string]int{}
	for _, r := range records {
		i, known := at[r.Case.Op]
		if !known {
			i = len(all)
			at[r.Case.Op], all = i, append(all, nil)
		}
		all[i] = append(all[i], r)
	}
	return all
}

// operatorAnswer names the wrong implementations of an operator, or reports that none is wrong.
func operatorAnswer(records []record.Record) (sentence string, wrong bool) {
	name := records[0].Case.Op
	implementations := map[string]bool{}
	var names []string
	bads := map[string][]record.Record{}
	for _, r := range records {
		implementations[r.Impl] = true
		if r.Status.Weight() == op.Bad {
			if bads[r.Impl] == nil {
				names = append(names, r.Impl)
			}
			bads[r.Impl] = append(bads[r.Impl], r)
		}
	}
	goods, neutrals, _ := group{records: records}.counts()
	if len(names) == 0 {
		if goods == 0 {
			return fmt.Sprintf("%s: nothing was proven right or wrong in %s.", name,
				counted(len(records), "run")), false
		}
		sentence = fmt.Sprintf("%s: nothing is wrong in %s of %s; %d are good",
			name, counted(len(records), "run"), counted(len(implementations), "implementation"), goods)
		if neutrals > 0 {
			sentence += fmt.Sprintf(", %d neither good nor wrong", neutrals)
		}
		return sentence + ".", false
	}
	var parts []string
	for _, impl := range names[:min(len(names), 4)] {
		all := 0
		for _, r := range records {
			if r.Impl == impl {
				all++
			}
		}
		g := group{records: bads[impl]}
		parts = append(parts, fmt.Sprintf("%s in %d of %s (%s)", impl, len(bads[impl]), counted(all, "run"),
			g.status()))
	}
	if more := len(names) - len(parts); more > 0 {
		parts = append(parts, fmt.Sprintf("and %d more", more))
	}
	sentence = fmt.Sprintf("%s: %d of %s %s wrong: %s.", name, len(names),
		counted(len(implementations), "implementation"), areOrIs(len(names)), strings.Join(parts, "; "))
	first := bads[names[0]][0]
	for _, v := range choicesFirst(first.Outputs) {
		if v.Status.Weight() == op.Bad {
			return sentence + " First, " + verdictWords(v) + ".", true
		}
	}
	return sentence, true
}

func areOrIs(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// fastest names the fastest implementation on the largest timed case of each operator and pass.
func fastest(records []record.Record) []string {
	type part struct {
		op     string
		pass   op.Pass
		regime string
	}
	largest := map[part]point{}
	var order []part
	for _, p := range points(records) {
		r := p.records[0]
		lines := p.usable()
		if len(lines) == 0 {
			continue
		}
		key := part{r.Case.Op, r.Case.Pass, lines[0].timing.Regime}
		old, known := largest[key]
		if !known {
			order = append(order, key)
		}
		if !known || lines[0].timing.Bytes > old.usable()[0].timing.Bytes {
			largest[key] = p
		}
	}
	var sentences []string
	for _, key := range order[:min(len(order), 4)] {
		lines := largest[key].usable()
		best := lines[0]
		words := fmt.Sprintf("Fastest on %s (%s): %s, %s", largest[key].title(), key.regime, best.impl,
			Duration(best.timing.MedianNS))
		if best.timing.Roofline != nil {
			words += fmt.Sprintf(", %.0f %% of the roofline", 100*float64(*best.timing.Roofline))
		}
		if len(lines) > 1 {
			words += fmt.Sprintf("; then %s, %s", lines[1].impl, Duration(lines[1].timing.MedianNS))
		}
		sentences = append(sentences, words+".")
	}
	return sentences
}

// usable returns the usable timings of a point, of its first regime, the fastest first. A backward that could
// only be timed with its forward is left out.
func (p point) usable() []timeLine {
	lines := slices.DeleteFunc(p.lines(nil), func(l timeLine) bool {
		return l.timing == nil || l.timing.Status != op.StatusPass || l.timing.MedianNS <= 0 || l.pair != nil
	})
	for i, l := range lines {
		if l.timing.Regime != lines[0].timing.Regime {
			return lines[:i]
		}
	}
	return lines
}

// diffAnswer lists what became wrong, slower, right and faster.
func (p Page) diffAnswer() (sentences []string, wrong bool) {
	count := resultdiff.Counted(p.Diff.Changes)
	if len(p.Diff.Changes) == 0 {
		return []string{"The two sides have nothing in common."}, false
	}
	o, w := count.Outcomes, count.SpeedVerdicts
	var bads []string
	if n := o[resultdiff.BecameWrong]; n > 0 {
		bads = append(bads, fmt.Sprintf("%d became wrong", n))
	}
	if n := w[resultdiff.Slower]; n > 0 {
		bads = append(bads, fmt.Sprintf("%d became slower", n))
	}
	first := "Nothing became wrong or slower."
	if len(bads) > 0 {
		first, wrong = "B is worse than A: "+strings.Join(bads, ", ")+".", true
	}
	return []string{first, diffSummary(count)}, wrong
}
