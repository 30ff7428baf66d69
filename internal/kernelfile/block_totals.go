package kernelfile

import (
	"fmt"
	"slices"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
)

// takeBlockTotals lets a lone kernel that writes a value for each block, "out[blockIdx.x] = sum", write them
// into scratch memory of ours: the operator's total is their sum, as a caller would compute it.
func (b *Binding) takeBlockTotals(file *cfacts.File) {
	for i := range b.Args {
		a := &b.Args[i]
		if b.Pass == op.Forward && a.Role == Output && a.Adapter == layout.AsItLies && a.Over == "" &&
			a.Target == b.Spec.Own.Total && !a.Stated && b.givesBlocks(file, *a) {
			a.Adapter = layout.BlockTotals
		}
	}
}

// keepsBlocks reports whether a host function may leave the values of blocks to its caller: it returns
// nothing, and is not named solve(), as functions are that give the total.
func keepsBlocks(fn *cfacts.Function) bool {
	return fn.NumberType == "" && !fn.ReturnsTensors && fn.Name != "solve"
}

// givesBlocks reports whether a function gives one value for each block: a lone kernel, or a host function
// that launches one kernel, once, and returns the number of its blocks, or returns nothing.
func (b *Binding) givesBlocks(file *cfacts.File, a Argument) bool {
	fn := &b.Function
	switch {
	case fn.Kind == cfacts.Kernel:
		return body{b: b, file: file, tokens: fn.Body}.givesValueOfEachBlock(a)
	case fn.Kind != cfacts.Host || !slices.Contains(cfacts.IntegerTypes, fn.NumberType) && !keepsBlocks(fn):
		return false
	}
	launches, at := 0, 0
	gives := false
	for i, t := range fn.Body {
		if slices.Contains([]string{"for", "while", "do"}, t.Text) {
			return false
		}
		callee, open := file.AnyCalled(fn, i)
		if callee == nil || callee.Kind != cfacts.Kernel {
			continue
		}
		launches, at = launches+1, i
		for at, argument := range cfacts.SplitAtCommas(cfacts.Inside(fn.Body, open)) {
			if at < len(callee.Params) && cfacts.Join(argument) == a.Name {
				there := a
				there.Name = callee.Params[at].Name
				gives = body{b: b, file: file, tokens: callee.Body}.givesValueOfEachBlock(there)
			}
		}
	}
	if !gives || launches != 1 || fn.Body[at].Text != "<<<" {
		return false
	}
	return keepsBlocks(fn) || returnsWordOf(fn, at,
		cfacts.SplitAtCommas(fn.Body[at+1 : cfacts.ConfigurationEnd(fn.Body, at)])[0])
}

// returnsWordOf reports whether every return gives one variable of the grid of a launch, or of the expression
// that the grid is computed from.
func returnsWordOf(fn *cfacts.Function, at int, grid []cfacts.Token) bool {
	words := grid
	if len(grid) == 1 {
		words = append(slices.Clone(grid), defined(fn.Body[:at], grid[0].Text)...)
	}
	returns := fn.Returned()
	other := func(value []cfacts.Token) bool {
		return cfacts.Join(value) != cfacts.Join(grid) && (len(value) != 1 || !value[0].IsName() ||
			!slices.ContainsFunc(words, func(t cfacts.Token) bool { return t.Text == value[0].Text }))
	}
	return len(returns) > 0 && !slices.ContainsFunc(returns, other)
}

// addTotals adds up what the blocks wrote.
func (b *Binding) addTotals(args []Argument) string {
	code := ""
	for i, a := range args {
		if a.Adapter != layout.BlockTotals {
			continue
		}
		types := b.Cases[0].types
		code += fmt.Sprintf("\ttriad_own::add_up<<<1, 256, 0, triad::stream_of(triad_own_call)>>>(\n"+
			"\t\tstatic_cast<float *>(%s.data), %s, static_cast<size_t>(%s));\n", b.tensorAt(a),
			b.placeCode("const "+a.Instantiate(types).Base, a, i), b.numberCode((*evaluation).blocksOf))
	}
	return code
}

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
