package kernelfile

import (
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/pyfacts"
)

// The forms of what a Python file defines.
const (
	plainForm  = pyfacts.Plain   // NAME(a=..., b=...)
	appliedTo  = pyfacts.Applied // its apply takes positional arguments
	moduleForm = pyfacts.Module  // it is created, and called with our weights
	packedForm = pyfacts.Packed  // custom_kernel(data), where data holds all tensors
	kernelForm = pyfacts.Kernel  // we launch it
)

// pythonRanks lists the candidates of a Python file, the likely ones first: all fitting ones of a rank are
// judged, a later rank only if none of the earlier fits. A function that another one calls is judged through
// that.
func pythonRanks(list []cfacts.Function) [][]cfacts.Function {
	calls := func(fn cfacts.Function) bool {
		return slices.ContainsFunc(list, func(other cfacts.Function) bool {
			return other.Name != fn.Name && other.Form != kernelForm && other.Call != fn.Call &&
				slices.Contains(other.Parsed().Calls, fn.Call) ||
				fn.Form == appliedTo && other.Form == appliedTo && other.Name != fn.Name &&
					other.Parsed().Defaults == fn.Parsed().Defaults && fn.Call != fn.Name
		})
	}
	var ranks [][]cfacts.Function
	for _, rank := range []func(cfacts.Function) bool{
		func(fn cfacts.Function) bool { return fn.Name == "solve" },
		func(fn cfacts.Function) bool { return fn.Name == "custom_kernel" },
		func(fn cfacts.Function) bool { return fn.Name == "ModelNew" },
		func(fn cfacts.Function) bool { return fn.Form == plainForm || fn.Form == appliedTo && !calls(fn) },
		func(fn cfacts.Function) bool { return fn.Form == moduleForm },
		func(fn cfacts.Function) bool { return fn.Form == kernelForm },
	} {
		some := slices.DeleteFunc(slices.Clone(list), func(fn cfacts.Function) bool { return !rank(fn) })
		if len(some) > 0 {
			ranks = append(ranks, some)
		}
	}
	return ranks
}

// throughAutograd returns the backward of a forward that goes through an autograd function.
func (b *Binding) throughAutograd() *Binding {
	if !b.Function.Parsed().Autograd || b.Pass != op.Forward || b.fills() || b.Spec.Backward == nil {
		return nil
	}
	back := *b
	back.Pass, back.forward, back.Cases = op.Backward, b, nil
	for _, c := range b.Cases {
		if slices.Contains(b.Spec.PassDTypes(op.Backward), c.DType) {
			back.Cases = append(back.Cases, c)
		}
	}
	if len(back.Cases) == 0 {
		return nil
	}
	return &back
}

// Recomputes reports whether it is the backward of an autograd function, which goes through the forward.
func (b *Binding) Recomputes() bool { return b.forward != nil }

// gradientNames returns the gradients that a backward computes, and the positions of their inputs.
func (b *Binding) gradientNames() (names []string, positions []int) {
	_, outputs := b.Spec.Tensors(op.Backward)
	for _, t := range outputs {
		of, found := strings.CutPrefix(t.Name, "grad_")
		if i := slices.IndexFunc(b.inputs, func(in op.TensorSpec) bool { return in.Name == of }); found &&
			i >= 0 {
			names, positions = append(names, t.Name), append(positions, i)
		}
	}
	return names, positions
}
