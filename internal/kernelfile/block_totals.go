package kernelfile

import (
	"fmt"
	"slices"

	"triad/internal/op"
)

// takeBlockTotals lets a lone kernel that writes a value of each block, "out[blockIdx.x] = sum", write
// them into room of ours: the operator's total is what they add up to, as a caller adds them up.
func (b *Binding) takeBlockTotals(file *File) {
	for i := range b.Args {
		a := &b.Args[i]
		if b.Pass == op.Forward && a.Role == Output && a.Form == AsItLies && a.Over == "" &&
			a.Target == b.Spec.Own.Total && !a.told && b.givesBlocks(file, *a) {
			a.Form = BlockTotals
		}
	}
}

// givesBlocks says whether a function gives a value of each block: a lone kernel, or a host function that
// launches one kernel, once, and returns a number, that of the values.
func (b *Binding) givesBlocks(file *File, a Argument) bool {
	fn := &b.Function
	switch {
	case fn.Kind == Kernel:
		return body{b: b, file: file, tokens: fn.body}.givesValueOfEachBlock(a)
	case fn.Kind != Host || !slices.Contains(integerTypes, fn.number):
		return false
	}
	launches := 0
	gives := false
	for i, t := range fn.body {
		if slices.Contains([]string{"for", "while", "do"}, t.text) {
			return false
		}
		callee, open := file.anyCalled(fn, i)
		if callee == nil || callee.Kind != Kernel {
			continue
		}
		launches++
		for at, argument := range split(inside(fn.body, open)) {
			if at < len(callee.Params) && join(argument) == a.Name {
				there := a
				there.Name = callee.Params[at].Name
				gives = body{b: b, file: file, tokens: callee.body}.givesValueOfEachBlock(there)
			}
		}
	}
	return gives && launches == 1
}

// totalsRoom is how many bytes the values of all blocks take, in C++. None is larger than eight bytes.
func (b *Binding) totalsRoom() string {
	return "8 * static_cast<size_t>(" + b.blocksCode() + ")"
}

// blocksCode is the number of blocks that the kernel is launched with, in C++; of a host function the most
// that there may be.
func (b *Binding) blocksCode() string {
	if b.Launch == nil {
		return "triad::elements(" + b.inputAt(b.inputs[0].Name) + ") + 1"
	}
	return b.expressionCode(product(b.Launch.Grid), false)
}

// addTotals adds up what the blocks wrote.
func (b *Binding) addTotals(args []Argument) string {
	code := ""
	for i, a := range args {
		if a.Form != BlockTotals {
			continue
		}
		types := b.Cases[0].types
		code += fmt.Sprintf("\ttriad_own::add_up<<<1, 256, 0, triad::stream_of(triad_own_call)>>>(\n"+
			"\t\tstatic_cast<float *>(%s.data), reinterpret_cast<const %s *>(%s), "+
			"static_cast<size_t>(%s));\n",
			b.tensorAt(a), a.instantiate(types).Base, b.workPointer(i), b.blocksCode())
	}
	return code
}
