package params

import (
	"slices"
	"strconv"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/launches"
	"triad/internal/ownfile/layout"
)

// LeavesOutFirst reports whether an extension may take its tensors without the operator's first size, which
// is 1 and has no parameter: a matrix product without the batch. Its lines ask each of those tensors for the
// sizes of a tensor of one rank less, a.size(0) and a.size(1), and for no others. Sizes counted from the end,
// a.size(-1), leave it open; a check of the rank, a.dim() == 2, settles it.
func LeavesOutFirst(b *binding.Binding) (without, sure bool) {
	if !b.Extension || b.Function.Kind != cfacts.Host {
		return false, false
	}
	shape := extents.Shape(b, b.InputSpecs[0])
	if len(shape) < 3 {
		return false, false
	}
	first, _ := shape[0].(string)
	i := slices.IndexFunc(b.Spec.Dims, func(d op.DimSpec) bool { return d.Name == first })
	if i < 0 || b.Spec.Dims[i].Default != "1" || b.GivesSize(first) {
		return false, false
	}
	asked, open, stated := false, false, false
	for _, a := range b.Args {
		if !a.TorchTensor || a.Adapter != layout.AsItLies ||
			a.Role != binding.Input && a.Role != binding.Output {
			continue
		}
		sizes := extents.Shape(b, b.Tensor(a))
		if !BeginsWith(sizes, first) {
			continue
		}
		most, dim, counted := MostAsked(&b.Function, a.Name)
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

// BeginsWith reports whether the first of several sizes is this one.
func BeginsWith(sizes []any, first string) bool { return len(sizes) > 1 && sizes[0] == any(first) }

// AssumedFirst returns the assumption about an extension that leaves open whether its tensors have the
// operator's first size: they are passed with it.
func AssumedFirst(b *binding.Binding) []binding.Assumption {
	if without, sure := LeavesOutFirst(b); !without || sure {
		return nil
	}
	first, _ := extents.Shape(b, b.InputSpecs[0])[0].(string)
	parameters := b.TensorParameters()
	stated := !slices.ContainsFunc(b.Args, func(a binding.Argument) bool {
		return slices.Contains(parameters, a.Name) && !b.Stated(a)
	})
	if stated {
		return nil
	}
	return []binding.Assumption{{
		Kind: binding.GuessedForm, What: "its tensors have the size " + first, AnySize: true,
	}}
}

// MostAsked returns the last size that the lines ask a tensor for, a.size(1), -1 if they ask for none, and
// the rank that they check, a.dim() == 2, 0 if they check none. counted says that they ask for one that is
// counted from the end or is no number, a.size(-1).
func MostAsked(fn *cfacts.Function, name string) (most, dim int, counted bool) {
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
func takeBlockTotals(b *binding.Binding, file *cfacts.File) {
	for i := range b.Args {
		a := &b.Args[i]
		if b.Pass == op.Forward && a.Role == binding.Output && a.Adapter == layout.AsItLies && a.Over == "" &&
			a.Target == b.Spec.Own.Total && !a.Stated && givesBlocks(b, file, *a) {
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
func givesBlocks(b *binding.Binding, file *cfacts.File, a binding.Argument) bool {
	fn := &b.Function
	switch {
	case fn.Kind == cfacts.Kernel:
		return launches.GivesValueOfEachBlock(binding.Body{B: b, File: file, Tokens: fn.Body}, a)
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
				gives = launches.GivesValueOfEachBlock(binding.Body{B: b, File: file, Tokens: callee.Body},
					there)
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
	made := grid
	if len(grid) == 1 {
		if made = cfacts.LastValue(fn.Body[:at], grid[0].Text); cfacts.TextsAt(made, 0, "dim3", "(") {
			made = cfacts.Inside(made, 1)
		}
	}
	words, alike := slices.Concat(grid, made), []string{cfacts.Join(grid), cfacts.Join(made)}
	returns := fn.Returned()
	other := func(value []cfacts.Token) bool {
		return !slices.Contains(alike, cfacts.Join(value)) && (len(value) != 1 || !value[0].IsName() ||
			!slices.ContainsFunc(words, func(t cfacts.Token) bool { return t.Text == value[0].Text }))
	}
	return len(returns) > 0 && !slices.ContainsFunc(returns, other)
}

// takeReturned lets a host function without a parameter for the only output, which has one element, return it
// as a number.
func takeReturned(b *binding.Binding, chosen []binding.Candidate) {
	if b.Function.Kind != cfacts.Host || b.Function.NumberType == "" || b.Pass != op.Forward {
		return
	}
	required := b.Required()
	if len(required) != 1 ||
		slices.ContainsFunc(chosen, func(c binding.Candidate) bool { return c.Role == binding.Output }) {
		return
	}
	pointers, inputs := 0, 0
	for _, p := range b.Function.Params {
		if p.Pointer {
			pointers++
		}
	}
	for _, t := range b.InputSpecs {
		if !t.Optional {
			inputs++
		}
	}
	t := b.OutputSpecs[required[0]]
	if list := extents.Shape(b, t); len(list) == 1 && list[0] == "1" && pointers == inputs {
		b.Without[t.Name], b.Returned = true, t.Name
	}
}
