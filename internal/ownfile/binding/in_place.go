package binding

import (
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
)

// FillsInPlace reports whether a Python function that takes sizes in addition to its tensors, as an exercise
// does, returns nothing.
func (b *Binding) FillsInPlace() bool {
	return b.Function.Kind == cfacts.Python && b.Function.Form == PlainForm && b.TakesSizes() &&
		!b.Function.Parsed().Gives
}

// Required lists the required outputs.
func (b *Binding) Required() []int {
	var list []int
	for i, t := range b.OutputSpecs {
		if !t.Optional {
			list = append(list, i)
		}
	}
	return list
}

// InPlace reports whether the function changes its input in place.
func (b *Binding) InPlace() bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Over != "" })
}

// InPlaceOf returns the input in whose place an output is written, or "" if it has a buffer of its own.
func (b *Binding) InPlaceOf(output string) string {
	for _, a := range b.Args {
		if a.Role == Output && a.Target == output {
			return a.Over
		}
	}
	return ""
}

// InPlaceSentence is the note about such a function.
const InPlaceSentence = "it works in place: the input is copied to the output before each call, and the " +
	"copy is timed"

// Accumulates reports whether a function adds to an output without writing it first, so that its caller
// zeroes it: by atomic additions, or in a backward, as training loops do, or in a kernel whose launch is not
// in the file.
func (b *Binding) Accumulates(a Argument) bool {
	if a.Role != Output || a.Over != "" {
		return false
	}
	if a.Plain { // next to running sums an output is scaled and added to
		return a.Reread && slices.ContainsFunc(b.Args, func(o Argument) bool {
			return o.Adapter == layout.Scratch && o.Fill != ""
		})
	}
	return a.Accumulates() || a.Added && (b.Pass == op.Backward || b.Function.Kind == cfacts.Kernel)
}

// Accumulated returns the outputs that are accumulated into, or "" if there are none.
func (b *Binding) Accumulated() string {
	names := b.ArgumentsThat(b.Accumulates)
	// The outputs of a Python function that are accumulated into are not identified.
	if b.Function.Kind == cfacts.Python && b.Varies && len(names) == 0 {
		names = b.ArgumentsThat(func(a Argument) bool { return a.Role == Output && a.Over == "" })
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ", ") + ": added to before it is written, so zeroed before each call: " +
		"assumed that its caller does that"
}
