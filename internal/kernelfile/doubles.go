package kernelfile

import (
	"fmt"
	"slices"

	"triad/internal/op"
)

// takeDoubles reads a function of doubles, where the operator has no more than floats, as one of fp32:
// its tensors are converted before and after each call. What it computes in double and rounds once is
// within what fp32 may.
func (b *Binding) takeDoubles() {
	if b.Function.Kind == Python || b.Pass != op.Forward || b.extension || b.each || len(b.unscaled) > 0 ||
		!slices.Contains(b.Spec.PassDTypes(b.Pass), op.FP32.String()) {
		return
	}
	var found []int
	for i, a := range b.Args {
		if a.Role != Input && a.Role != Output || b.tensor(a).DType != "" {
			continue
		}
		element, _, ok := a.element()
		if !ok || element != op.FP64 || a.Form != AsItLies && a.Form != BlockTotals || a.Over != "" {
			return
		}
		found = append(found, i)
	}
	for _, i := range found {
		b.doubles64 = true
		if b.Args[i].Form == AsItLies {
			b.Args[i].Form = Doubles
		}
	}
}

// doublesName returns the variable of the shim that points to the doubles of the argument at a place.
func doublesName(at int) string { return fmt.Sprintf("triad_own_doubles_%d", at) }

// doublesBefore makes the doubles of an argument. In the emulator they have a buffer of their own, filled
// with NaN before it is written, so that accesses outside it show.
func (b *Binding) doublesBefore(a Argument, at int) string {
	name, bytes := doublesName(at), b.roomCode(a)
	code := fmt.Sprintf("\tvoid *%s = %s;\n#ifdef __CUEMU__\n\tcudaMalloc(&%s, %s);\n"+
		"\tcudaMemset(%s, 0xff, %s);\n#endif\n", name, b.placeCode("void", a, at), name, bytes, name, bytes)
	if b.accumulates(a) {
		code += checked(fmt.Sprintf("static_cast<int>(cudaMemsetAsync(%s, 0, %s, "+
			"triad::stream_of(triad_own_call)))", name, bytes))
	}
	if a.Role == Input {
		code += b.convertCode(a, fmt.Sprintf("static_cast<double *>(%s)", name),
			fmt.Sprintf("static_cast<const float *>(%s.data)", b.tensorAt(a)))
	}
	return code
}

// doublesAfter takes what was written, and gives the buffer back.
func (b *Binding) doublesAfter(a Argument, at int) string {
	code := ""
	if a.Role == Output {
		code = b.convertCode(a, fmt.Sprintf("static_cast<float *>(%s.data)", b.tensorAt(a)),
			fmt.Sprintf("static_cast<const double *>(%s)", doublesName(at)))
	}
	return code + fmt.Sprintf("#ifdef __CUEMU__\n\tcudaFree(%s);\n#endif\n", doublesName(at))
}
