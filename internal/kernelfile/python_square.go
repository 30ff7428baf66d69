package kernelfile

import (
	"slices"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
)

// mayBeSquare reports whether a function of tensors with sizes may be meant for squares only: it creates its
// result like an input whose sizes differ from the output's, and takes no sizes.
func (b *Binding) mayBeSquare() bool {
	if b.Function.Kind != cfacts.Python && !b.Function.ReturnsTensors || b.Pass != op.Forward ||
		b.Options.Square ||
		b.takesSizes() || len(b.required()) != 1 || len(b.squareSizes()) < 2 {
		return false
	}
	gives := b.shape(b.outputs[b.required()[0]])
	return slices.ContainsFunc(b.Args, func(a Argument) bool {
		like := slices.Contains(b.Function.Parsed().Like, a.Name) ||
			cfacts.HasTexts(b.Function.Body, "empty_like", "(", a.Name) ||
			cfacts.HasTexts(b.Function.Body, "zeros_like", "(", a.Name)
		return a.Role == Input && like && !slices.Equal(b.shape(b.inputs[a.Index]), gives)
	})
}

// asSquares returns the interpretations with square matrices: with all their sizes, and without those that
// are 1.
func (b *Binding) asSquares() (all []Alternative) {
	if !b.mayBeSquare() {
		return nil
	}
	for _, sizes := range append(b.perhapsWithout(), nil) {
		all = append(all, Alternative{
			Flags: "square matrices", Options: Options{Square: true, Without: sizes},
		})
	}
	return all
}

// squareSizes returns the sizes of the tensors, other than fixed ones, which are equal in a square.
func (b *Binding) squareSizes() (names []string) {
	for _, d := range b.Spec.Dims {
		_, fixed := b.fixed(d.Name)
		if !fixed && d.Default == "" && b.isShown(d.Name) {
			names = append(names, d.Name)
		}
	}
	return names
}

// isShown reports whether a size is one of a tensor that the operator always has.
func (b *Binding) isShown(dim string) bool {
	return slices.ContainsFunc(slices.Concat(b.inputs, b.outputs), func(t op.TensorSpec) bool {
		return !t.Optional && !b.leftOut(t) && slices.Contains(b.shape(t), any(dim))
	})
}
