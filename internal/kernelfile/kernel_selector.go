package kernelfile

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"triad/internal/ownfile/cfacts"
)

// choosesKernel is the note about such a number.
const choosesKernel = ", which chooses the kernel"

// takeSelector takes a number by which a function chooses one of several kernels: "switch (kernel_num)" or
// "if (version == 2)" over 1, 2, 3 or 0, 1, 2. Each kernel is judged separately, as FILE:function#2. Sizes
// that a function distinguishes, such as 64 and 128, are not consecutive.
func (b *Binding) takeSelector(a *Argument) (taken bool, err error) {
	selectors := selectors(b.Function, a.Name)
	if a.IsBool() {
		selectors = branches(b.Function, a.Name)
	}
	if b.Function.Kind != cfacts.Host || !a.IsInteger() && !a.IsBool() || len(selectors) < 2 {
		return false, nil
	}
	selector := selectors[0]
	if b.Options.Selector == "" {
		b.selectors = selectors
	} else if selector, err = strconv.Atoi(b.Options.Selector); err != nil ||
		!slices.Contains(selectors, selector) {
		return false, b.errorf("%s chooses no kernel by %s: want %s#%d to %s#%d", a.Name, b.Options.Selector,
			b.Function.Name, selectors[0], b.Function.Name, selectors[len(selectors)-1])
	}
	a.Role, a.Target, a.Index = Constant, strconv.Itoa(selector)+choosesKernel, selector
	return true, nil
}

// checkSelector refuses a number if the function does not choose its kernel by one.
func (b *Binding) checkSelector() error {
	chooses := func(a Argument) bool { return strings.HasSuffix(a.Target, choosesKernel) }
	if b.Options.Selector == "" || slices.ContainsFunc(b.Args, chooses) {
		return nil
	}
	return b.errorf("%[1]s#%[2]s: it does not choose between kernels by a number, as in switch "+
		"(kernel_num): leave out #%[2]s", b.Function.Name, b.Options.Selector)
}

// names returns the functions that a binding stands for, as --add takes them: itself, or each of the kernels
// that it chooses from.
func (b *Binding) names() []string {
	if len(b.selectors) == 0 {
		return []string{b.Function.Name}
	}
	name := b.Function.Name
	if len(b.Options.Arguments) > 0 {
		name += "<" + strings.Join(b.Options.Arguments, ",") + ">"
	}
	var all []string
	for _, n := range b.selectors {
		all = append(all, fmt.Sprintf("%s#%d", name, n))
	}
	return all
}

// selectors lists the numbers that the lines of a function choose by, in ascending order. It returns none if
// they are not 0, 1, 2, ... or 1, 2, 3, ...
func selectors(fn cfacts.Function, param string) []int {
	var found []int
	add := func(text string) {
		if n, err := strconv.Atoi(text); err == nil && !slices.Contains(found, n) {
			found = append(found, n)
		}
	}
	body := fn.Body
	for i := 0; i+3 < len(body); i++ {
		switch {
		case body[i].Text == "switch" && body[i+2].Text == param:
			for _, n := range casesOf(body[i:]) {
				add(n)
			}
		case body[i].Text == param && body[i+1].Text == "==":
			add(body[i+2].Text)
		}
	}
	slices.Sort(found)
	for i, n := range found {
		if found[0] > 1 || n != found[0]+i {
			return nil
		}
	}
	return found
}

// branches returns 0 and 1 if the lines of a function launch in both branches of "if (flag)", or launch after
// one that ends it; else none.
func branches(fn cfacts.Function, param string) []int {
	for i := 0; i+3 < len(fn.Body); i++ {
		if fn.Body[i].Text != "if" || fn.Body[i+2].Text != param || fn.Body[i+3].Text != ")" {
			continue
		}
		launches := func(part []cfacts.Token) bool {
			return slices.ContainsFunc(part, func(t cfacts.Token) bool { return t.Text == "<<<" })
		}
		under := statementAt(fn.Body, i+4)
		if at := i + 4 + len(under); launches(under) && launches(fn.Body[min(at, len(fn.Body)):]) {
			return []int{0, 1}
		}
	}
	return nil
}

// casesOf lists the labels of the switch at the beginning of the tokens, without those of nested switches.
func casesOf(body []cfacts.Token) []string {
	var labels []string
	var open []bool // for each brace whether it belongs to a switch
	next, switches := false, 0
	for i, t := range body[:len(body)-1] {
		switch t.Text {
		case "switch":
			next = true
		case "{":
			open = append(open, next)
			if next {
				switches++
			}
			next = false
		case "}":
			if len(open) == 0 {
				return labels
			}
			if open[len(open)-1] {
				switches--
			}
			if open = open[:len(open)-1]; len(open) == 0 {
				return labels
			}
		case "case":
			if switches == 1 {
				labels = append(labels, body[i+1].Text)
			}
		}
	}
	return labels
}

// proposedNumbers gives the numbers among a kernel's template parameters a default if their names say what
// they size: 256 threads of a block, or 16 on each side of a block of two dims, tiles of 16, warps of 32. It
// returns what was proposed, "BLOCK is 256".
func proposedNumbers(fn *cfacts.Function, said map[string]string) (proposed []string) {
	fn.Template = slices.Clone(fn.Template)
	for i := range fn.Template {
		t := &fn.Template[i]
		t.Default = cmp.Or(said[t.Name], t.Default)
		if t.Type || t.Default != "" {
			continue
		}
		if n := numberFor(fn, t.Name); n != "" {
			t.Default = n
			proposed = append(proposed, fmt.Sprintf("%s is %s", t.Name, n))
		}
	}
	return proposed
}

// numberFor returns the number that a name suggests, "" if it suggests none.
func numberFor(fn *cfacts.Function, name string) string {
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			return strings.Contains(strings.ToLower(name), w)
		})
	}
	second := body{}.uses(fn.Body, "threadIdx", "y")
	switch {
	case says("warp"):
		return "32"
	case says("tile"), says("block", "bdim", "dim") && second:
		return "16"
	case says("block", "thread", "tpb", "bdim"):
		return fmt.Sprint(blockThreads)
	}
	return ""
}

// assumedNumbers returns the assumption about the numbers of the template.
func (b *Binding) assumedNumbers() []Assumption {
	if len(b.numbers) == 0 {
		return nil
	}
	return []Assumption{{
		Kind: GuessedLaunch, What: "of its template " + strings.Join(b.numbers, ", "),
		open: eachOf(b.numbers, func(number string) string {
			name, _, _ := strings.Cut(number, " is ")
			return name
		}),
	}}
}
