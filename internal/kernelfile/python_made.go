package kernelfile

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
)

var (
	makesFP32 = regexp.MustCompile(
		`(?:empty|zeros|ones|full)\w*\([^\n]*dtype\s*=\s*torch\.float(?:32)?\b`)
	makesOther = regexp.MustCompile(`\.dtype\b|\.type_as\(|\.half\(|\.bfloat16\(|\.to\(`)
	returned   = regexp.MustCompile(`(?m)^[ \t]+return[ \t]+\(?(\w+)\b[ \t]*(?:,[^\n]*)?\)?[ \t]*$`)
	returns    = regexp.MustCompile(`(?m)^[ \t]+return\b`)
	creation   = regexp.MustCompile(`^\s*torch\.(?:empty|zeros|ones|full)\w*\(`)
	dtypeSaid  = regexp.MustCompile(`^\s*dtype\s*=\s*torch\.(\w+)\s*$`)
)

// givesDType is the dtype in which a function of Python makes what it gives, whatever it takes; "" where the
// lines do not say one.
func (b *Binding) givesDType() string {
	if b.Function.Kind != Python {
		return ""
	}
	text := ownLines(b.Function.text)
	follows := len(b.outputs) > 0 && (b.outputs[0].DType == "" || b.outputs[0].DType == "$1")
	if d := madeDType(text); d != "" && follows {
		return d
	}
	if makesFP32.MatchString(text) && !makesOther.MatchString(text) {
		return "fp32"
	}
	return ""
}

var (
	innerHead = regexp.MustCompile(`^([ \t]+)def[ \t]`)
	indent    = regexp.MustCompile(`^[ \t]*`)
)

// ownLines are the lines of a function without comments and without the functions that it defines, such as
// the grid of a launch, def grid(meta).
func ownLines(text string) string {
	var own []string
	inner := -1 // the indent of a function within
	for line := range strings.Lines(pythonComment.ReplaceAllString(text, "")) {
		deep := len(indent.FindString(line))
		if strings.TrimSpace(line) != "" && deep <= inner {
			inner = -1
		}
		if m := innerHead.FindStringSubmatch(line); m != nil && inner < 0 && len(own) > 0 {
			inner = len(m[1])
		}
		if inner < 0 {
			own = append(own, line)
		}
	}
	return strings.Join(own, "")
}

// madeDType is the dtype in which the first thing is made that a function returns, where each of its returns
// names the same variable, and each value of that is a new tensor of just this dtype.
func madeDType(text string) string {
	names := returned.FindAllStringSubmatch(text, -1)
	if len(names) == 0 || len(names) != len(returns.FindAllString(text, -1)) {
		return ""
	}
	name := names[0][1]
	if slices.ContainsFunc(names, func(m []string) bool { return m[1] != name }) {
		return ""
	}
	made := ""
	assigned := regexp.MustCompile(`(?m)^[ \t]+` + regexp.QuoteMeta(name) + `[ \t]*(?::[^=\n]+)?=[^=]`)
	for _, at := range assigned.FindAllStringIndex(text, -1) {
		value := text[at[1]-1:]
		head := creation.FindString(value)
		if head == "" {
			return ""
		}
		said := ""
		for _, argument := range argumentList(value[len(head):]) {
			if m := dtypeSaid.FindStringSubmatch(strings.TrimSpace(argument)); m != nil {
				said = torchDTypes[m[1]]
			}
		}
		if said == "" || made != "" && made != said {
			return ""
		}
		made = said
	}
	return made
}

// givesItsOwn says whether a function of Python returns, each time, a tensor that its lines make: what it
// takes is no output then, however it is called.
func (fn *Function) givesItsOwn() bool {
	text := ownLines(fn.text)
	names := returned.FindAllStringSubmatch(text, -1)
	if len(names) == 0 || len(names) != len(returns.FindAllString(text, -1)) {
		return false
	}
	for _, m := range names {
		made := regexp.MustCompile(`(?m)^[ \t]+` + regexp.QuoteMeta(m[1]) +
			`[ \t]*=[ \t]*torch\.(?:empty|zeros|ones|full)\w*\(`)
		taken := func(p Param) bool { return p.Name == m[1] }
		if slices.ContainsFunc(fn.Params, taken) || !made.MatchString(text) {
			return false
		}
	}
	return true
}

// givenBack are the parameters that a function of Python returns, each time and nothing else, without giving
// their names another tensor: it writes its result where they lie.
func (fn *Function) givenBack() []string {
	text := ownLines(docstring.ReplaceAllString(fn.text, ""))
	var names []string
	for i, at := range returns.FindAllStringIndex(text, -1) {
		line, _, _ := strings.Cut(text[at[1]:], "\n")
		var these []string
		for _, item := range strings.Split(withoutParentheses(strings.TrimSpace(line)), ",") {
			these = append(these, strings.TrimSpace(item))
		}
		if i > 0 && !slices.Equal(names, these) {
			return nil
		}
		names = these
	}
	for _, name := range names {
		taken := func(p Param) bool { return p.Name == name }
		if !slices.ContainsFunc(fn.Params, taken) || renamed(askingLines(*fn), name) {
			return nil
		}
	}
	return names
}

// renamed says whether lines give a name another tensor, other than a copy of its own without gaps or of
// another dtype.
func renamed(lines, name string) bool {
	assigned := regexp.MustCompile(`(?m)^[ \t]*(?:\w+[ \t]*,[ \t]*)*` + regexp.QuoteMeta(name) +
		`[ \t]*(?:,[ \t]*\w+[ \t]*)*=([^=].*)$`)
	return slices.ContainsFunc(assigned.FindAllStringSubmatch(lines, -1), func(m []string) bool {
		return !keepsShape.MatchString(m[1]) || !strings.HasPrefix(strings.TrimSpace(m[1]), name+".")
	})
}

// returnsItself says whether an input is what a function of Python returns: it gets a copy.
func (b *Binding) returnsItself(a Argument) bool {
	return a.Role == Input && b.Function.Kind == Python && b.Function.form == plainForm &&
		b.Pass == op.Forward && slices.Contains(b.Function.givenBack(), a.Name)
}
