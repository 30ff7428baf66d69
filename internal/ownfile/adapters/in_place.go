package adapters

import (
	"fmt"
	"maps"
	"slices"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
)

// MatchInPlace takes the only pointer of a CUDA function for input and output at once if the operator has one
// of each, alike in shape and dtype: the function changes its data in place. The pointer gets the output,
// into which the input is copied before each call.
func MatchInPlace(b *binding.Binding) {
	if b.Pass != op.Forward || b.Function.MayReturn() && !b.FillsInPlace() || len(b.InputSpecs) != 1 {
		return
	}
	outputs := b.Required()
	if len(outputs) != 1 {
		return
	}
	in, out := b.InputSpecs[0], b.OutputSpecs[outputs[0]]
	only := -1
	for i, a := range b.Args {
		if a.Pointer && a.Role != binding.Stream {
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
	a.Role, a.Target, a.Index, a.Over = binding.Output, out.Name, outputs[0], in.Name
}

// PairInPlace lets one writable pointer stand for an input and the output in its place, if the spec permits
// that and the function has no parameter for one of them.
func PairInPlace(b *binding.Binding) {
	if b.Function.MayReturn() && !b.FillsInPlace() && !b.Extension || b.Pass != op.Forward {
		return
	}
	pairs := pairsInPlace(b)
	for _, output := range slices.Sorted(maps.Keys(pairs)) {
		input := pairs[output]
		at := binding.Named(b.OutputSpecs, output)
		if b.Has(binding.Input, input) == b.Has(binding.Output, output) {
			continue
		}
		for i := range b.Args {
			a := &b.Args[i]
			tensor := a.Role == binding.Input && a.Target == input ||
				a.Role == binding.Output && a.Target == output
			from := binding.Named(b.InputSpecs, input)
			// An input that a switch leaves out is present if the lines compute the output from its old
			// contents.
			optional := b.SwitchOf(b.InputSpecs[from]) != ""
			said := b.Options.Said != nil && b.Options.Said.Over[a.Name] == input
			if optional && !a.Reread && !said || !optional && b.Function.MayReturn() {
				continue
			}
			if tensor && (a.Pointer || a.Untyped) && !a.Const {
				a.Role, a.Target, a.Index, a.Over = binding.Output, output, at, input
			}
		}
	}
}

// pairsInPlace returns the outputs that may share the buffer of an input: those of the spec, and the only
// required one if the lines of a CUDA function compute it from an input of its shape that they write.
func pairsInPlace(b *binding.Binding) map[string]string {
	pairs := maps.Clone(b.Spec.Own.InPlace)
	switched := func(i int) bool { return b.SwitchOf(b.OutputSpecs[i]) != "" }
	required := slices.DeleteFunc(b.Required(), switched)
	if b.Function.Kind == cfacts.Python || len(required) != 1 {
		return pairs
	}
	out := b.OutputSpecs[required[0]]
	if _, said := pairs[out.Name]; said {
		return pairs
	}
	for _, in := range b.InputSpecs {
		if in.DType != out.DType || fmt.Sprint(in.Shape) != fmt.Sprint(out.Shape) || b.SwitchOf(in) != "" {
			continue
		}
		made := slices.ContainsFunc(b.Args, func(a binding.Argument) bool {
			own := a.Role == binding.Input && a.Target == in.Name ||
				a.Role == binding.Output && a.Target == out.Name
			return own && a.Pointer && !a.TorchTensor && !a.Const && a.Writing.Any() && (a.Reread || a.Added)
		})
		if made && b.Has(binding.Input, in.Name) != b.Has(binding.Output, out.Name) {
			if pairs == nil {
				pairs = map[string]string{}
			}
			pairs[out.Name] = in.Name
			return pairs
		}
	}
	return pairs
}
