package ownfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/shim"
)

// Describe describes how a function was understood: its signature, what every parameter stands for, the
// dtypes, and what it is not judged on.
func Describe(b *binding.Binding) string {
	var text strings.Builder
	fmt.Fprintf(&text, "line %d: %s\n", b.Function.Line, b.Function.Text)
	fmt.Fprintf(&text, "  %s %v, %s: %s", b.Spec.Name, b.Pass, strings.Join(b.DTypes(), ", "), b.Matched())
	if said := b.Options.Said; said != nil {
		fmt.Fprintf(&text, "\n  read as line %d of the file says", said.Line.At.Line)
		for _, name := range slices.Sorted(maps.Keys(said.Dims)) {
			fmt.Fprintf(&text, ", at %s = %d alone", name, said.Dims[name])
		}
	}
	if l := b.Launch; l != nil {
		fmt.Fprintf(&text, "\n  launched with %s", l)
	}
	if l := b.Triton; l != nil {
		fmt.Fprintf(&text, "\n  launched with %s", l)
	}
	if b.WithoutDType || b.Stores {
		why := "it names no dtype"
		if b.Stores {
			why = "its kernels convert what they load or store"
		}
		fmt.Fprintf(&text, "\n  %s: its tensors are taken for %s (--dtype says another)", why, b.Asked[0])
	} else if len(b.Options.Only) > 0 && b.Options.Said == nil {
		what, others := "16 bits", "fp16,bf16"
		for _, dtype := range []op.DType{op.FP16, op.BF16} { // the other one is named
			if len(b.Asked) > 1 && !slices.Contains(b.Asked, dtype.String()) {
				what, others = dtype.String(), dtype.String()
			}
		}
		fmt.Fprintf(&text, "\n  no line of it speaks of %s, where it is wrong: it is judged in "+
			"%s alone (--dtype %s judges it there)", what, strings.Join(b.Asked, ", "), others)
	} else if len(b.Asked) > 0 {
		fmt.Fprintf(&text, "\n  its lines ask for %s: it is judged in no other dtype",
			strings.Join(b.Asked, ", "))
	}
	for _, sentence := range shim.Limits(b) {
		fmt.Fprintf(&text, "\n  %s", sentence)
	}
	for _, note := range b.Notes {
		fmt.Fprintf(&text, "\n  %s", note)
	}
	if len(b.Left) > 0 {
		fmt.Fprintf(&text, "\n  not judged, since %s has the operator's name: %s (--add FILE:NAME judges "+
			"one)", b.Function.Name, strings.Join(b.Left, ", "))
	}
	if b.Varies {
		text.WriteString("\n  it adds with atomics: outputs may differ in their last bits from run to run, " +
			"and each is judged")
	}
	return text.String()
}
