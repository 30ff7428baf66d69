package kernelfile

import (
	"fmt"
	"slices"
	"strings"
)

// proposedNumbers gives the numbers among a kernel's template parameters a value where their names say what
// they size, as if they had it by default: 256 threads of a block, or 16 on each side of a block of two dims,
// tiles of 16, warps of 32. It gives what was proposed, "BLOCK is 256".
func (fn *Function) proposedNumbers() (proposed []string) {
	fn.Template = slices.Clone(fn.Template)
	for i := range fn.Template {
		t := &fn.Template[i]
		if t.Type || t.Default != "" {
			continue
		}
		if n := fn.numberFor(t.Name); n != "" {
			t.Default = n
			proposed = append(proposed, fmt.Sprintf("%s is %s", t.Name, n))
		}
	}
	return proposed
}

// numberFor is the number that a name asks for, "" where it says nothing.
func (fn *Function) numberFor(name string) string {
	says := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			return strings.Contains(strings.ToLower(name), w)
		})
	}
	second := body{}.uses(fn.body, "threadIdx", "y")
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

// assumedNumbers is the assumption about the numbers of the template.
func (b *Binding) assumedNumbers() []Assumption {
	if len(b.numbers) == 0 {
		return nil
	}
	return []Assumption{{
		Kind: GuessedLaunch, What: "of its template " + strings.Join(b.numbers, ", "),
		Flag: "--add FILE:" + b.withArguments(),
	}}
}

// saidNumbers says what the parameters of a template stand for, "BLOCK is 256".
func saidNumbers(params []TemplateParam, arguments []string) (all []string) {
	for i, argument := range arguments[:min(len(arguments), len(params))] {
		all = append(all, params[i].Name+" is "+argument)
	}
	return all
}

// withArguments is the kernel with the template arguments that were proposed, as --add takes it.
func (b *Binding) withArguments() string {
	var words []string
	for i, t := range b.Function.Template {
		if i < len(b.Options.Arguments) {
			words = append(words, b.Options.Arguments[i])
		} else if word := t.Default; word != "" {
			words = append(words, word)
		} else {
			words = append(words, "float")
		}
	}
	return b.Function.Name + "<" + strings.Join(words, ",") + ">"
}
