package kernelfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
)

// proposedNumbers gives the numbers among a kernel's template parameters a value where their names say what
// they size, as if they had it by default: 256 threads of a block, or 16 on each side of a block of two dims,
// tiles of 16, warps of 32. It gives what was proposed, "BLOCK is 256".
func (fn *Function) proposedNumbers(said map[string]string) (proposed []string) {
	fn.Template = slices.Clone(fn.Template)
	for i := range fn.Template {
		t := &fn.Template[i]
		t.Default = cmp.Or(said[t.Name], t.Default)
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

// numberFor returns the number that a name asks for, "" where it says nothing.
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

// assumedNumbers returns the assumption about the numbers of the template.
func (b *Binding) assumedNumbers() []Assumption {
	if len(b.numbers) == 0 {
		return nil
	}
	return []Assumption{{
		Kind: GuessedLaunch, What: "of its template " + strings.Join(b.numbers, ", "),
	}}
}

// saidNumbers returns what the parameters of a template stand for, "BLOCK is 256".
func saidNumbers(params []TemplateParam, arguments []string) (all []string) {
	for i, argument := range arguments[:min(len(arguments), len(params))] {
		all = append(all, params[i].Name+" is "+argument)
	}
	return all
}

// instantiated returns the dtypes for which the file instantiates a template by name, "template void
// softmax<float>(...);": it is not written for others. None where it says none.
func (f *File) instantiated(fn Function) (all []op.DType) {
	name := fn.Name[strings.LastIndex(fn.Name, ":")+1:]
	for i := 0; i+3 < len(f.tokens); i++ {
		if f.tokens[i].text != "template" || f.tokens[i+1].text == "<" {
			continue
		}
		for k := i + 1; k+2 < len(f.tokens) && f.tokens[k].text != ";" && f.tokens[k].text != "("; k++ {
			if f.tokens[k].text != name || f.tokens[k+1].text != "<" {
				continue
			}
			if d, known := elementTypes[f.resolve(f.tokens[k+2].text)]; known {
				all = append(all, d)
			}
		}
	}
	return all
}
