package kernelfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
)

// Describe describes how a function was understood: its signature, what every parameter stands for, the
// dtypes, and what it is not judged on.
func (b *Binding) Describe() string {
	var text strings.Builder
	fmt.Fprintf(&text, "line %d: %s\n", b.Function.Line, b.Function.Text)
	fmt.Fprintf(&text, "  %s %v, %s: %s", b.Spec.Name, b.Pass, strings.Join(b.DTypes(), ", "), b.Matched())
	if said := b.Options.said; said != nil {
		fmt.Fprintf(&text, "\n  read as line %d of the file says", said.line.At.Line)
		for _, name := range slices.Sorted(maps.Keys(said.dims)) {
			fmt.Fprintf(&text, ", at %s = %d alone", name, said.dims[name])
		}
	}
	if l := b.Launch; l != nil {
		fmt.Fprintf(&text, "\n  launched with %s", l)
	}
	if l := b.triton; l != nil {
		fmt.Fprintf(&text, "\n  launched with %s", l)
	}
	if b.withoutDType || b.stores {
		why := "it names no dtype"
		if b.stores {
			why = "its kernels convert what they load or store"
		}
		fmt.Fprintf(&text, "\n  %s: its tensors are taken for %s (--dtype says another)", why, b.asked[0])
	} else if len(b.Options.Only) > 0 && b.Options.said == nil {
		what, others := "16 bits", "fp16,bf16"
		for _, dtype := range []op.DType{op.FP16, op.BF16} { // the other one is named
			if len(b.asked) > 1 && !slices.Contains(b.asked, dtype.String()) {
				what, others = dtype.String(), dtype.String()
			}
		}
		fmt.Fprintf(&text, "\n  no line of it speaks of %s, where it is wrong: it is judged in "+
			"%s alone (--dtype %s judges it there)", what, strings.Join(b.asked, ", "), others)
	} else if len(b.asked) > 0 {
		fmt.Fprintf(&text, "\n  its lines ask for %s: it is judged in no other dtype",
			strings.Join(b.asked, ", "))
	}
	for _, sentence := range b.limits() {
		fmt.Fprintf(&text, "\n  %s", sentence)
	}
	for _, note := range b.Notes {
		fmt.Fprintf(&text, "\n  %s", note)
	}
	if len(b.left) > 0 {
		fmt.Fprintf(&text, "\n  not judged, since %s has the operator's name: %s (--add FILE:NAME judges "+
			"one)", b.Function.Name, strings.Join(b.left, ", "))
	}
	if b.varies {
		text.WriteString("\n  it adds with atomics: outputs may differ in their last bits from run to run, " +
			"and each is judged")
	}
	return text.String()
}

// limits returns the sentences of Constraint that are this function's own.
func (b *Binding) limits() []string {
	var all []string
	seen := map[string]bool{}
	conditions := b.conditions()
	for _, p := range b.pinned() {
		conditions = append(conditions, condition{sentence: p.sentence})
	}
	for _, c := range conditions {
		if !strings.HasPrefix(c.sentence, "files added") && !seen[c.sentence] {
			seen[c.sentence] = true
			all = append(all, c.sentence)
		}
	}
	all = append(all, b.adapterSentences()...)
	if words := b.accumulated(); words != "" {
		all = append(all, words)
	}
	if b.inPlace() {
		all = append(all, inPlaceSentence)
	}
	for _, a := range b.Args {
		if b.returnsItself(a) {
			all = append(all, fmt.Sprintf("it returns %s, which it takes: it gets a copy of it for each "+
				"call, and the copy is timed", a.Name))
		}
	}
	return all
}

// Matched returns the meaning of every parameter: "input = x, N = cols".
func (b *Binding) Matched() string {
	var words []string
	for _, a := range b.Args {
		switch {
		case a.Role != Nothing && a.Role != Stride:
			words = append(words, a.Name+" is "+a.meaning())
		}
	}
	return strings.Join(words, ", ")
}

// meaning returns in words what a parameter stands for.
func (a Argument) meaning() string {
	if a.Share > 0 {
		return "a factor of " + a.Target
	}
	if a.Over != "" {
		return a.Over + " and " + a.Target
	}
	return a.Target
}

// eachOf returns what give makes of each element.
func eachOf[T, R any](list []T, give func(T) R) (all []R) {
	for _, x := range list {
		all = append(all, give(x))
	}
	return all
}

// those returns the elements that fulfil a condition.
func those[T any](list []T, is func(T) bool) (all []T) {
	for _, x := range list {
		if is(x) {
			all = append(all, x)
		}
	}
	return all
}

// withNew adds a value to a list that does not have it.
func withNew[T comparable](list []T, value T) []T {
	if slices.Contains(list, value) {
		return list
	}
	return append(list, value)
}

// argumentsThat returns the names of the parameters that fulfil a condition.
func (b *Binding) argumentsThat(is func(Argument) bool) []string {
	return eachOf(those(b.Args, is), func(a Argument) string { return a.Name })
}

func tensorNames(list []op.TensorSpec) string { return strings.Join(namesOf(list), ", ") }

func namesOf(list []op.TensorSpec) []string {
	return eachOf(list, func(t op.TensorSpec) string { return t.Name })
}

func dimNames(s *op.Spec) []string {
	return eachOf(s.Dims, func(d op.DimSpec) string { return d.Name })
}

func attributeNames(s *op.Spec) []string {
	return eachOf(s.Attributes, func(a op.AttributeSpec) string { return a.Name })
}
