package kernelfile

import (
	"slices"
	"strings"

	"triad/internal/op"
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

// place is the destination of an argument of a Python function.
type place uint8

// The places of arguments.
const (
	inCall   place = iota
	inWeight       // a parameter of the module
	inInit         // an argument of its __init__
	inTile         // a constexpr of a kernel
	inStride       // a stride that a kernel takes
)

// pythonRanks lists the candidates of a Python file, the likely ones first: all fitting ones of a rank are
// judged, a later rank only if none of the earlier fits. A function that another one calls is judged through
// that.
func pythonRanks(list []Function) [][]Function {
	calls := func(fn Function) bool {
		return slices.ContainsFunc(list, func(other Function) bool {
			return other.Name != fn.Name && other.form != kernelForm && other.call != fn.call &&
				slices.Contains(other.parsed().Calls, fn.call) ||
				fn.form == appliedTo && other.form == appliedTo && other.Name != fn.Name &&
					other.parsed().Defaults == fn.parsed().Defaults && fn.call != fn.Name
		})
	}
	var ranks [][]Function
	for _, rank := range []func(Function) bool{
		func(fn Function) bool { return fn.Name == "solve" },
		func(fn Function) bool { return fn.Name == "custom_kernel" },
		func(fn Function) bool { return fn.Name == "ModelNew" },
		func(fn Function) bool { return fn.form == plainForm || fn.form == appliedTo && !calls(fn) },
		func(fn Function) bool { return fn.form == moduleForm },
		func(fn Function) bool { return fn.form == kernelForm },
	} {
		some := slices.DeleteFunc(slices.Clone(list), func(fn Function) bool { return !rank(fn) })
		if len(some) > 0 {
			ranks = append(ranks, some)
		}
	}
	return ranks
}

// throughAutograd returns the backward of a forward that goes through an autograd function.
func (b *Binding) throughAutograd() *Binding {
	if !b.Function.parsed().Autograd || b.Pass != op.Forward || b.fills() || b.Spec.Backward == nil {
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
