package kernelfile

import (
	"fmt"

	"triad/internal/op"
)

// matchInPlace takes the only pointer of a CUDA function for input and output at once, where the operator has
// one of each, alike in shape and dtype: the function changes its data where they lie. It gets the output,
// into which the input is copied before each call.
func (b *Binding) matchInPlace() {
	if b.Pass != op.Forward || b.Function.Kind == Python || len(b.inputs) != 1 {
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
	a.Role, a.Target, a.Index, a.InPlace = Output, out.Name, outputs[0], true
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

// inPlace says whether the function changes its input where it lies.
func (b *Binding) inPlace() bool {
	for _, a := range b.Args {
		if a.InPlace {
			return true
		}
	}
	return false
}

// inPlaceSentence is what is said of such a function.
const inPlaceSentence = "it works in place: the input is copied to the output before each call, and the " +
	"copy is timed"
