package kernelfile

import (
	"fmt"

	"triad/internal/op"
)

// takeBlockTotals lets a lone kernel that writes a value of each block, "out[blockIdx.x] = sum", write
// them into room of ours: the operator's total is what they add up to, as a caller adds them up.
func (b *Binding) takeBlockTotals(file *File) {
	k := body{b: b, file: file, tokens: b.Function.body}
	for i := range b.Args {
		a := &b.Args[i]
		if b.Function.Kind == Kernel && b.Pass == op.Forward && a.Role == Output && a.Form == AsItLies &&
			a.Over == "" && a.Target == b.Spec.Own.Total && !a.told && k.givesValueOfEachBlock(*a) {
			a.Form = BlockTotals
		}
	}
}

// totalsRoom is how many bytes the values of all blocks take, in C++. None is larger than eight bytes.
func (b *Binding) totalsRoom() string {
	return "8 * static_cast<size_t>(" + b.blocksCode() + ")"
}

// blocksCode is the number of blocks that the kernel is launched with, in C++.
func (b *Binding) blocksCode() string { return b.expressionCode(product(b.Launch.Grid), false) }

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
