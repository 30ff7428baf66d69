package kernelfile

import (
	"slices"

	"triad/internal/op"
)

// givesDType is the dtype in which a function of Python makes what it gives, whatever it takes; "" where the
// lines do not say one.
func (b *Binding) givesDType() string {
	if b.Function.Kind != Python || b.Function.form == appliedTo {
		return ""
	}
	follows := len(b.outputs) > 0 && (b.outputs[0].DType == "" || b.outputs[0].DType == "$1")
	if d := b.Function.said.MadeAs; d != "" && follows {
		return d
	}
	if b.Function.said.MakesFP32 {
		return "fp32"
	}
	return ""
}

// returnsItself says whether an input is what a function of Python returns: it gets a copy.
func (b *Binding) returnsItself(a Argument) bool {
	return a.Role == Input && b.Function.Kind == Python && b.Function.form == plainForm &&
		b.Pass == op.Forward && slices.Contains(b.Function.said.GivesBack, a.Name)
}
