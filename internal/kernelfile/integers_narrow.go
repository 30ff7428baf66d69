package kernelfile

import (
	"fmt"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
)

// narrowIntegers finds the pointers to int that stand for tensors of int64, such as labels and counts: people
// write int, and every value that the operator has there fits one. triad converts them before and after each
// call.
func (b *Binding) narrowIntegers() {
	for i := range b.Args {
		a := &b.Args[i]
		if a.Role != Input && a.Role != Output || a.Adapter != AsItLies || a.TorchTensor || a.Over != "" ||
			b.Function.Kind == cfacts.Python {
			continue
		}
		element, any, ok := a.Element()
		if ok && !any && element == op.I32 && b.tensor(*a).DType == op.I64.String() {
			a.Adapter = Narrow
		}
	}
}

// narrowCode converts an input from 64 bits into the buffer that the function reads, or an output from the
// buffer that it wrote.
func (b *Binding) narrowCode(a Argument, at int) string {
	data := b.tensorAt(a) + ".data)"
	if a.Role == Output {
		return b.convertCode(a, "static_cast<int64_t *>("+data, b.placeCode("const int32_t", a, at))
	}
	return b.convertCode(a, b.placeCode("int32_t", a, at), "static_cast<const int64_t *>("+data)
}

func (b *Binding) convertCode(a Argument, to, from string) string {
	return fmt.Sprintf("\ttriad_own::convert<<<triad_own::blocks(triad::elements(%[3]s)), 256, 0, "+
		"triad::stream_of(triad_own_call)>>>(\n\t\t%[1]s,\n\t\t%[2]s, "+
		"static_cast<size_t>(triad::elements(%[3]s)));\n", to, from, b.tensorAt(a))
}
