package kernelfile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/layout"
)

// extensionCall calls a function that takes and returns torch::Tensor. An exception, such as that of a failed
// TORCH_CHECK, declines the call. again means that it is the second of two calls, for other outputs.
func (b *Binding) extensionCall(c Instance, args []string, again bool) string {
	tensors := ""
	for i, a := range b.Args {
		if a.TorchTensor && (a.Role == Input || a.Role == Output) { // a reference takes no temporary
			name := fmt.Sprintf("triad_own_tensor_%d", i)
			tensors += fmt.Sprintf("\t\t::at::Tensor %s = %s;\n", name, args[i])
			args[i] = name
		}
	}
	call := fmt.Sprintf("%s(%s)", c.Call, strings.Join(args, ", "))
	if b.Function.ReturnsTensors {
		at := fmt.Sprint(b.returnedOutputs(again))
		call = fmt.Sprintf("triad_own::store(triad_own_call, {%s}, %s)",
			strings.Join(strings.Fields(strings.Trim(at, "[]")), ", "), call)
	}
	return "\t\t{\n" + tensors +
		"\t\t::c10::cuda::stream_of_the_call() = triad::stream_of(triad_own_call);\n" +
		"\t\ttry {\n\t\t\t" + call + ";\n\t\t} catch (const std::exception &e) {\n" +
		"\t\t\tstd::fprintf(stderr, \"%s\\n\", e.what());\n\t\t\treturn TRIAD_UNSUPPORTED;\n\t\t}\n\t\t}\n"
}

// returnedOutputs returns for each value that an extension returns the output that it is.
func (b *Binding) returnedOutputs(again bool) (at []int) {
	for i, t := range b.outputs {
		if b.isReturned(t) && b.without[t.Name] == again {
			at = append(at, i)
		}
	}
	return at
}

// neverAsked returns the sizes that an extension, or a Python function that launches kernels, takes for
// equal, as one parameter for two would say: it never asks the tensors that have the second one for their
// sizes.
func (b *Binding) neverAsked() [][]string {
	host := b.extension && b.Function.Kind == cfacts.Host
	python := b.Function.Kind == cfacts.Python && (b.Function.Form == plainForm ||
		b.Function.Form == appliedTo)
	if !host && !python || !b.Function.ShowsSizes() || b.takesSizes() {
		return nil
	}
	var groups [][]string
	for _, target := range slices.Sorted(maps.Keys(b.Spec.Synonyms)) {
		dims := dimsOf(target)
		if !strings.Contains(target, "=") || len(dims) != 2 {
			continue
		}
		if !b.asksSize(dims[1]) && b.asksSize(dims[0]) {
			groups = append(groups, dims)
		}
	}
	return groups
}

// asksSize reports whether the function may learn a size: it asks a tensor that has it, or passes one on
// whole.
func (b *Binding) asksSize(dim string) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool {
		if a.Role != Input || !slices.Contains(b.shape(b.tensor(a)), any(dim)) {
			return false
		}
		if b.Function.Kind == cfacts.Python {
			return b.pythonAsks(b.Function, a.Name, asksDepth)
		}
		place := slices.Index(b.shape(b.tensor(a)), any(dim))
		return a.TorchTensor && asksSizes(&b.Function, a.Name, place, len(b.shape(b.tensor(a))))
	})
}

// asksSizes reports whether the lines of a function ask a tensor of a given rank for its size at a place, or
// for all its sizes, or pass it on whole. Macros that check it do not count.
func asksSizes(fn *cfacts.Function, name string, place, rank int) bool {
	for i, t := range fn.Body {
		if t.Text != name || i+2 >= len(fn.Body) {
			continue
		}
		checks := i >= 2 && fn.Body[i-1].Text == "(" && strings.Contains(fn.Body[i-2].Text, "CHECK")
		next := fn.Body[i+1].Text
		if next != "." && !checks {
			return true
		}
		member := fn.Body[i+2].Text
		if member == "size" && i+5 < len(fn.Body) && fn.Body[i+5].Text == ")" { // of another place
			n, err := strconv.Atoi(fn.Body[i+4].Text)
			if err == nil && n != place && n < rank {
				continue
			}
		}
		if next == "." && (strings.HasPrefix(member, "size") || strings.Contains(member, "accessor") ||
			slices.Contains([]string{"numel", "dim", "ndimension", "view", "reshape"}, member)) {
			return true
		}
	}
	return false
}

// leavesOutFirst reports whether an extension may take its tensors without the operator's first size, which
// is 1 and has no parameter: a matrix product without the batch. Its lines ask each of those tensors for the
// sizes of a tensor of one rank less, a.size(0) and a.size(1), and for no others. Sizes counted from the end,
// a.size(-1), leave it open; a check of the rank, a.dim() == 2, settles it.
func (b *Binding) leavesOutFirst() (without, sure bool) {
	if !b.extension || b.Function.Kind != cfacts.Host {
		return false, false
	}
	shape := b.shape(b.inputs[0])
	if len(shape) < 3 {
		return false, false
	}
	first, _ := shape[0].(string)
	i := slices.IndexFunc(b.Spec.Dims, func(d op.DimSpec) bool { return d.Name == first })
	if i < 0 || b.Spec.Dims[i].Default != "1" || b.givesSize(first) {
		return false, false
	}
	asked, open, stated := false, false, false
	for _, a := range b.Args {
		if !a.TorchTensor || a.Adapter != layout.AsItLies || a.Role != Input && a.Role != Output {
			continue
		}
		sizes := b.shape(b.tensor(a))
		if !beginsWith(sizes, first) {
			continue
		}
		most, dim, counted := mostAsked(&b.Function, a.Name)
		if dim == len(sizes) { // a batch, beside one matrix for all of it
			continue
		}
		if most >= len(sizes)-1 || dim > 0 && dim != len(sizes)-1 {
			return false, false
		}
		side := b.Options.Square && most == 0 // of a square matrix
		asked = asked || most == len(sizes)-2 || dim > 0 || side
		open, stated = open || counted, stated || dim > 0
	}
	return asked, !open || stated
}

// beginsWith reports whether the first of several sizes is this one.
func beginsWith(sizes []any, first string) bool { return len(sizes) > 1 && sizes[0] == any(first) }

// extensionTensor returns the C++ of a tensor that is passed to an extension.
func (b *Binding) extensionTensor(a Argument, of string) string {
	if without, sure := b.leavesOutFirst(); without && sure {
		first, _ := b.shape(b.inputs[0])[0].(string)
		sizes := b.shape(b.tensor(a))
		if _, dim, _ := mostAsked(&b.Function, a.Name); beginsWith(sizes, first) && dim != len(sizes) {
			return fmt.Sprintf("triad_own::without_first(triad_own::tensor(%s))", of)
		}
	}
	return fmt.Sprintf("triad_own::tensor(%s)", of)
}

// assumedFirst returns the assumption about an extension that leaves open whether its tensors have the
// operator's first size: they are passed with it.
func (b *Binding) assumedFirst() []Assumption {
	if without, sure := b.leavesOutFirst(); !without || sure {
		return nil
	}
	first, _ := b.shape(b.inputs[0])[0].(string)
	parameters := b.tensorParameters()
	stated := !slices.ContainsFunc(b.Args, func(a Argument) bool {
		return slices.Contains(parameters, a.Name) && !b.stated(a)
	})
	if stated {
		return nil
	}
	return []Assumption{{Kind: GuessedForm, What: "its tensors have the size " + first, anySize: true}}
}

// mostAsked returns the last size that the lines ask a tensor for, a.size(1), -1 if they ask for none, and
// the rank that they check, a.dim() == 2, 0 if they check none. counted says that they ask for one that is
// counted from the end or is no number, a.size(-1).
func mostAsked(fn *cfacts.Function, name string) (most, dim int, counted bool) {
	most = -1
	for i := 0; i+5 < len(fn.Body); i++ {
		if fn.Body[i].Text != name || fn.Body[i+1].Text != "." || fn.Body[i+3].Text != "(" {
			continue
		}
		switch member := fn.Body[i+2].Text; {
		case member == "size" || member == "stride":
			n, err := strconv.Atoi(fn.Body[i+4].Text)
			if err == nil {
				most = max(most, n)
			}
			counted = counted || err != nil
		case member == "dim" && i+6 < len(fn.Body) && fn.Body[i+5].Text == "==":
			dim, _ = strconv.Atoi(fn.Body[i+6].Text)
		}
	}
	return most, dim, counted
}

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
	count, at := 0, 0
	gives := false
	for i, t := range fn.Body {
		if slices.Contains([]string{"for", "while", "do"}, t.Text) {
			return false
		}
		callee, open := file.AnyCalled(fn, i)
		if callee == nil || callee.Kind != cfacts.Kernel {
			continue
		}
		count, at = count+1, i
		for at, argument := range cfacts.SplitAtCommas(cfacts.Inside(fn.Body, open)) {
			if at < len(callee.Params) && cfacts.Join(argument) == a.Name {
				there := a
				there.Name = callee.Params[at].Name
				gives = body{b: b, file: file, tokens: callee.Body}.givesValueOfEachBlock(there)
			}
		}
	}
	if !gives || count != 1 || fn.Body[at].Text != "<<<" {
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
		words = append(slices.Clone(grid), cfacts.LastValue(fn.Body[:at], grid[0].Text)...)
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
