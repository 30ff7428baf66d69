package kernelfile

import (
	"fmt"
	"slices"

	"triad/internal/op"
)

// takeBlockTotals lets a lone kernel that writes a value for each block, "out[blockIdx.x] = sum", write them
// into scratch memory of ours: the operator's total is their sum, as a caller would compute it.
func (b *Binding) takeBlockTotals(file *File) {
	for i := range b.Args {
		a := &b.Args[i]
		if b.Pass == op.Forward && a.Role == Output && a.Adapter == AsItLies && a.Over == "" &&
			a.Target == b.Spec.Own.Total && !a.stated && b.givesBlocks(file, *a) {
			a.Adapter = BlockTotals
		}
	}
}

// keepsBlocks reports whether a host function may leave the values of blocks to its caller: it returns
// nothing, and is not named solve(), as functions are that give the total.
func (fn *Function) keepsBlocks() bool {
	return fn.number == "" && !fn.returns && fn.Name != "solve"
}

// givesBlocks reports whether a function gives one value for each block: a lone kernel, or a host function
// that launches one kernel, once, and returns the number of its blocks, or returns nothing.
func (b *Binding) givesBlocks(file *File, a Argument) bool {
	fn := &b.Function
	switch {
	case fn.Kind == Kernel:
		return body{b: b, file: file, tokens: fn.body}.givesValueOfEachBlock(a)
	case fn.Kind != Host || !slices.Contains(integerTypes, fn.number) && !fn.keepsBlocks():
		return false
	}
	launches, at := 0, 0
	gives := false
	for i, t := range fn.body {
		if slices.Contains([]string{"for", "while", "do"}, t.text) {
			return false
		}
		callee, open := file.anyCalled(fn, i)
		if callee == nil || callee.Kind != Kernel {
			continue
		}
		launches, at = launches+1, i
		for at, argument := range split(inside(fn.body, open)) {
			if at < len(callee.Params) && join(argument) == a.Name {
				there := a
				there.Name = callee.Params[at].Name
				gives = body{b: b, file: file, tokens: callee.body}.givesValueOfEachBlock(there)
			}
		}
	}
	if !gives || launches != 1 || fn.body[at].text != "<<<" {
		return false
	}
	return fn.keepsBlocks() || fn.returnsWordOf(at, split(fn.body[at+1 : configurationEnd(fn.body, at)])[0])
}

// returned returns the expression of each return of a function.
func (fn *Function) returned() (all [][]token) {
	for i, t := range fn.body {
		if t.text != "return" {
			continue
		}
		end := i + 1
		for end < len(fn.body) && fn.body[end].text != ";" {
			end++
		}
		all = append(all, fn.body[i+1:end])
	}
	return all
}

// returnsWordOf reports whether every return gives one variable of the grid of a launch, or of the expression
// that the grid is computed from.
func (fn *Function) returnsWordOf(at int, grid []token) bool {
	words := grid
	if len(grid) == 1 {
		words = append(slices.Clone(grid), defined(fn.body[:at], grid[0].text)...)
	}
	returns := fn.returned()
	other := func(value []token) bool {
		return join(value) != join(grid) && (len(value) != 1 || !value[0].isName() ||
			!slices.ContainsFunc(words, func(t token) bool { return t.text == value[0].text }))
	}
	return len(returns) > 0 && !slices.ContainsFunc(returns, other)
}

// addTotals adds up what the blocks wrote.
func (b *Binding) addTotals(args []Argument) string {
	code := ""
	for i, a := range args {
		if a.Adapter != BlockTotals {
			continue
		}
		types := b.Cases[0].types
		code += fmt.Sprintf("\ttriad_own::add_up<<<1, 256, 0, triad::stream_of(triad_own_call)>>>(\n"+
			"\t\tstatic_cast<float *>(%s.data), %s, static_cast<size_t>(%s));\n", b.tensorAt(a),
			b.placeCode("const "+a.instantiate(types).Base, a, i), b.numberCode((*evaluation).blocksOf))
	}
	return code
}
