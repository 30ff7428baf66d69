package kernelfile

import (
	"fmt"
	"slices"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
)

// takeReturned lets a host function without a parameter for the only output, which has one element, return it
// as a number.
func (b *Binding) takeReturned(chosen []candidate) {
	if b.Function.Kind != cfacts.Host || b.Function.NumberType == "" || b.Pass != op.Forward {
		return
	}
	required := b.required()
	if len(required) != 1 || slices.ContainsFunc(chosen, func(c candidate) bool { return c.role == Output }) {
		return
	}
	pointers, inputs := 0, 0
	for _, p := range b.Function.Params {
		if p.Pointer {
			pointers++
		}
	}
	for _, t := range b.inputs {
		if !t.Optional {
			inputs++
		}
	}
	t := b.outputs[required[0]]
	if list := b.shape(t); len(list) == 1 && list[0] == "1" && pointers == inputs {
		b.without[t.Name], b.returned = true, t.Name
	}
}

// returnedCall stores the return value of a call in its output.
func (b *Binding) returnedCall(call string) string {
	if b.returned == "" {
		return call
	}
	return fmt.Sprintf("triad_own::give(%s, %s)", b.outputAt(b.returned), call)
}
