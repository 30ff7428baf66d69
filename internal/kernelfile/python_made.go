package kernelfile

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
)

// givesDType is the dtype in which a function of Python makes what it gives, whatever it takes; "" where the
// lines do not say one.
func (b *Binding) givesDType() string {
	if b.Function.Kind != Python || b.Function.form == appliedTo {
		return ""
	}
	follows := len(b.outputs) > 0 && (b.outputs[0].DType == "" || b.outputs[0].DType == "$1")
	if d := b.Function.said.MadeAs; d != "" && follows {
		return d
	}
	if b.Function.said.MakesFP32 {
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

// returnsItself says whether an input is what a function of Python returns: it gets a copy.
func (b *Binding) returnsItself(a Argument) bool {
	return a.Role == Input && b.Function.Kind == Python && b.Function.form == plainForm &&
		b.Pass == op.Forward && slices.Contains(b.Function.said.GivesBack, a.Name)
}
