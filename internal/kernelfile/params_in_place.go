package kernelfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
)

// matchInPlace takes the only pointer of a CUDA function for input and output at once if the operator has one
// of each, alike in shape and dtype: the function changes its data in place. The pointer gets the output,
// into which the input is copied before each call.
func (b *Binding) matchInPlace() {
	if b.Pass != op.Forward || b.Function.MayReturn() && !b.fillsInPlace() || len(b.inputs) != 1 {
		return
	}
	outputs := b.required()
	if len(outputs) != 1 {
		return
	}
	in, out := b.inputs[0], b.outputs[outputs[0]]
	only := -1
	for i, a := range b.Args {
		if a.Pointer && a.Role != Stream {
			if only >= 0 || a.Const {
				return
			}
			only = i
		}
	}
	if only < 0 || in.DType != out.DType || fmt.Sprint(in.Shape) != fmt.Sprint(out.Shape) {
		return
	}
	a := &b.Args[only]
	a.Role, a.Target, a.Index, a.Over = Output, out.Name, outputs[0], in.Name
}

// fillsInPlace reports whether a Python function that takes sizes in addition to its tensors, as an exercise
// does, returns nothing.
func (b *Binding) fillsInPlace() bool {
	return b.Function.Kind == cfacts.Python && b.Function.Form == plainForm && b.takesSizes() &&
		!b.Function.Parsed().Gives
}

// required lists the required outputs.
func (b *Binding) required() []int {
	var list []int
	for i, t := range b.outputs {
		if !t.Optional {
			list = append(list, i)
		}
	}
	return list
}

// inPlace reports whether the function changes its input in place.
func (b *Binding) inPlace() bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Over != "" })
}

// inPlaceOf returns the input in whose place an output is written, or "" if it has a buffer of its own.
func (b *Binding) inPlaceOf(output string) string {
	for _, a := range b.Args {
		if a.Role == Output && a.Target == output {
			return a.Over
		}
	}
	return ""
}

// inPlaceSentence is the note about such a function.
const inPlaceSentence = "it works in place: the input is copied to the output before each call, and the " +
	"copy is timed"

// pairInPlace lets one writable pointer stand for an input and the output in its place, if the spec permits
// that and the function has no parameter for one of them.
func (b *Binding) pairInPlace() {
	if b.Function.MayReturn() && !b.fillsInPlace() && !b.extension || b.Pass != op.Forward {
		return
	}
	pairs := b.pairsInPlace()
	for _, output := range slices.Sorted(maps.Keys(pairs)) {
		input := pairs[output]
		at := named(b.outputs, output)
		if b.has(Input, input) == b.has(Output, output) {
			continue
		}
		for i := range b.Args {
			a := &b.Args[i]
			tensor := a.Role == Input && a.Target == input || a.Role == Output && a.Target == output
			from := named(b.inputs, input)
			// An input that a switch leaves out is present if the lines compute the output from its old
			// contents.
			optional := b.switchOf(b.inputs[from]) != ""
			said := b.Options.said != nil && b.Options.said.over[a.Name] == input
			if optional && !a.Reread && !said || !optional && b.Function.MayReturn() {
				continue
			}
			if tensor && (a.Pointer || a.Untyped) && !a.Const {
				a.Role, a.Target, a.Index, a.Over = Output, output, at, input
			}
		}
	}
}

// pairsInPlace returns the outputs that may share the buffer of an input: those of the spec, and the only
// required one if the lines of a CUDA function compute it from an input of its shape that they write.
func (b *Binding) pairsInPlace() map[string]string {
	pairs := maps.Clone(b.Spec.Own.InPlace)
	switched := func(i int) bool { return b.switchOf(b.outputs[i]) != "" }
	required := slices.DeleteFunc(b.required(), switched)
	if b.Function.Kind == cfacts.Python || len(required) != 1 {
		return pairs
	}
	out := b.outputs[required[0]]
	if _, said := pairs[out.Name]; said {
		return pairs
	}
	for _, in := range b.inputs {
		if in.DType != out.DType || fmt.Sprint(in.Shape) != fmt.Sprint(out.Shape) || b.switchOf(in) != "" {
			continue
		}
		made := slices.ContainsFunc(b.Args, func(a Argument) bool {
			own := a.Role == Input && a.Target == in.Name || a.Role == Output && a.Target == out.Name
			return own && a.Pointer && !a.TorchTensor && !a.Const && a.Writing.Any() && (a.Reread || a.Added)
		})
		if made && b.has(Input, in.Name) != b.has(Output, out.Name) {
			if pairs == nil {
				pairs = map[string]string{}
			}
			pairs[out.Name] = in.Name
			return pairs
		}
	}
	return pairs
}

// accumulates reports whether a function adds to an output without writing it first, so that its caller
// zeroes it: by atomic additions, or in a backward, as training loops do, or in a kernel whose launch is not
// in the file.
func (b *Binding) accumulates(a Argument) bool {
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

// accumulated returns the outputs that are accumulated into, or "" if there are none.
func (b *Binding) accumulated() string {
	names := b.argumentsThat(b.accumulates)
	// The outputs of a Python function that are accumulated into are not identified.
	if b.Function.Kind == cfacts.Python && b.varies && len(names) == 0 {
		names = b.argumentsThat(func(a Argument) bool { return a.Role == Output && a.Over == "" })
	}
	if len(names) == 0 {
		return ""
	}
	return strings.Join(names, ", ") + ": added to before it is written, so zeroed before each call: " +
		"assumed that its caller does that"
}
