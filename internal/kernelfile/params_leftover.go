package kernelfile

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
)

// dimsOf returns the dims in a size: one, the factors of a product, or several equal ones.
func dimsOf(size string) []string {
	return strings.FieldsFunc(size, func(r rune) bool { return strings.ContainsRune(" *=", r) })
}

// matchLeftover assigns what is left to the parameters with uninformative names, by type and order. It fails
// if that is ambiguous.
func (b *Binding) matchLeftover(chosen []candidate) error {
	b.Args = make([]Argument, len(chosen))
	var pointers, numbers []int
	for i, c := range chosen {
		b.Args[i] = Argument{Param: b.Function.Params[i], Role: c.role, Target: c.target, Index: c.index}
	}
	b.takeReturned(chosen)
	b.matchInPlace()
	b.chooseAdapter()
	for i := range chosen {
		switch {
		case b.Args[i].Role != Nothing, b.takeAxis(&b.Args[i]):
		case b.Args[i].Optional,
			b.Args[i].Place == cfacts.InInit: // it keeps its default, or get_init_inputs() has it
		case b.Args[i].Pointer || b.Args[i].Untyped:
			pointers = append(pointers, i)
		default:
			numbers = append(numbers, i)
		}
	}
	if err := b.leftoverPointers(pointers); err != nil {
		return err
	}
	if err := b.leftoverNumbers(numbers); err != nil {
		return err
	}
	b.widen()
	return nil
}

// unmatched lists the tensors that no parameter stands for yet.
func (b *Binding) unmatched(role Role, tensors []op.TensorSpec) []int {
	var list []int
	for i, t := range tensors {
		if !b.has(role, t.Name) && !t.Optional && !b.leftOut(t) && !b.without[t.Name] {
			list = append(list, i)
		}
	}
	return list
}

func (b *Binding) leftoverPointers(pointers []int) error {
	pointers = slices.DeleteFunc(pointers, func(i int) bool {
		a := &b.Args[i]
		return b.takeZeros(a) || a.Untyped && b.takeShare(a)
	})
	inputs, outputs := b.unmatched(Input, b.inputs), b.unmatched(Output, b.outputs)
	if len(pointers) == 0 {
		return nil
	}
	var read, written []int
	for _, i := range pointers {
		if b.Args[i].Const {
			read = append(read, i)
		} else {
			written = append(written, i)
		}
	}
	// If nothing is const, inputs come first, then outputs; a written pointer is no input.
	returns := b.Function.MayReturn()
	for len(read) < len(inputs) && (len(written) > len(outputs) || returns && len(written) > 0) {
		first := slices.IndexFunc(written, func(i int) bool { return !b.Args[i].Any() })
		if first < 0 {
			break
		}
		read, written = append(read, written[first]), slices.Delete(written, first, first+1)
	}
	slices.Sort(read)
	if len(read) == 0 && len(written) == 1 && len(inputs) == 1 && len(outputs) == 1 {
		in, out := b.inputs[inputs[0]].Name, b.outputs[outputs[0]].Name
		if b.Pass == op.Forward && b.Function.Kind != cfacts.Python && b.Spec.Own.InPlace[out] == in {
			inputs = nil // pairInPlace gives the output its input
		}
	}
	ownResult := b.Function.ReturnsTensors && len(written) > 0 // its result does not go to a parameter
	if ownResult || len(read) != len(inputs) ||
		len(written) != len(outputs) && !(returns && len(written) == 0) {
		return b.errorf("what %s stands for is not clear: %s %v takes %s and gives %s",
			strings.Join(eachOf(pointers, func(i int) string { return b.Args[i].Name }), ", "), b.Spec.Name,
			b.Pass, tensorNames(b.inputs), tensorNames(b.outputs))
	}
	for k, i := range read {
		b.Args[i].Role, b.Args[i].Target, b.Args[i].Index = Input, b.inputs[inputs[k]].Name, inputs[k]
	}
	for k, i := range written[:min(len(written), len(outputs))] {
		b.Args[i].Role, b.Args[i].Target, b.Args[i].Index = Output, b.outputs[outputs[k]].Name, outputs[k]
	}
	return nil
}

func (b *Binding) leftoverNumbers(numbers []int) error {
	for _, i := range numbers {
		a := &b.Args[i]
		var open []candidate
		for _, k := range b.unmatchedSizes(a.Param) {
			open = append(open, candidate{role: Size, target: b.Spec.Dims[k].Name, index: k})
		}
		for k, t := range b.Spec.Attributes {
			fits := a.IsFloat() && t.Type == "float" || a.IsBool() && t.Type == "bool"
			if !b.has(Attribute, t.Name) && fits {
				open = append(open, candidate{role: Attribute, target: t.Name, index: k})
			}
		}
		if b.takeStride(a) || b.takePlainFactor(a) || b.takeElements(a, numbers) {
			continue
		}
		// of several the first, since rows are usually written before columns
		if len(open) > 0 && !countsThreads(a.Param) && !countsBlocks(a.Param) {
			a.Role, a.Target, a.Index = open[0].role, open[0].target, open[0].index
			continue
		}
		if !b.takeConstant(a) && !b.takeShare(a) {
			has := strings.Join(dimNames(b.Spec), ", ")
			if attributes := attributeNames(b.Spec); len(attributes) > 0 {
				has += " and the attributes " + strings.Join(attributes, ", ")
			}
			return b.errorf("what %s stands for is not clear: %s has the sizes %s", a.Name, b.Spec.Name, has)
		}
	}
	return nil
}

// takeStride takes a number whose name denotes a stride or a leading dimension for the row stride of the
// first tensor, or of the one that the name denotes: without gaps that is the last size.
func (b *Binding) takeStride(a *Argument) bool {
	of, is := strideOf(a.Name)
	if !a.IsInteger() || !is {
		return false
	}
	list, _ := b.inputs[0].Shape.([]any)
	for _, arg := range b.Args {
		if (arg.Role == Input || arg.Role == Output) && of != "" && match.Snake(arg.Name) == of {
			list, _ = b.tensor(arg).Shape.([]any)
		}
	}
	if len(list) < 2 {
		return false
	}
	last, isDim := list[len(list)-1].(string)
	at := slices.IndexFunc(b.Spec.Dims, func(d op.DimSpec) bool { return d.Name == last })
	if !isDim || at < 0 {
		return false
	}
	a.Role, a.Target, a.Index = Size, last, at
	return true
}

// strideOf reports whether a name denotes the stride of rows, and of which tensor: "lda" of a.
func strideOf(name string) (of string, is bool) {
	name = match.Snake(name)
	of, leading := strings.CutPrefix(name, "ld")
	if leading && len(of) <= 1 {
		return of, true
	}
	return "", name == "stride" || name == "pitch" || strings.HasSuffix(name, "row_stride")
}

// takeConstant takes a remaining number for the threads of a block, or for one more factor of a given size:
// batch and length where the operator has rows.
func (b *Binding) takeConstant(a *Argument) bool {
	if countsThreads(a.Param) {
		a.Role, a.Target, a.Index = Constant, fmt.Sprintf("%d threads of a block", blockThreads), blockThreads
		if b.sizesBothSides(a.Param) {
			a.Target, a.Index = fmt.Sprintf("%d threads on each side of a block", sideThreads), sideThreads
		}
		return true
	}
	rows := b.Spec.Dims[0].Name
	if !a.IsInteger() || b.Function.Kind == cfacts.Python && !b.fillsInPlace() || !b.givesSize(rows) ||
		match.Score(b.Spec, b.Pass, a.Name, rows) <= match.Weak {
		return false
	}
	a.Role, a.Target, a.Index = Constant, "1, as a factor of "+rows, 1
	return true
}

// constantWord returns the number that is passed for a parameter, as a word of --map.
func constantWord(a Argument) string {
	if a.Number != "" {
		return a.Number
	}
	return strconv.Itoa(a.Index)
}

// multiplied reports whether the lines multiply a parameter by another one that is a size: "n * m".
func (b *Binding) multiplied(a Argument) bool {
	other := func(t cfacts.Token) bool {
		return slices.ContainsFunc(b.Args, func(o Argument) bool {
			return o.Name == t.Text && o.Name != a.Name && o.Role == Size
		})
	}
	return b.speaksOf(func(t []cfacts.Token) bool {
		return t[1].Text == "*" && (t[0].Text == a.Name && other(t[2]) || t[2].Text == a.Name && other(t[0]))
	})
}

// takeShare takes a second size for an operator that has one: the two are its factors, such as the rows and
// columns of an elementwise function.
func (b *Binding) takeShare(a *Argument) bool {
	side := match.IsLetter(a.Name) || slices.ContainsFunc(match.Sides[:], func(words []string) bool {
		return slices.Contains(words, match.Snake(a.Name))
	})
	calls := b.Function.Kind == cfacts.Host || b.Function.Kind == cfacts.Python &&
		b.Function.Form == plainForm
	if len(b.Spec.Dims) != 1 || !a.IsInteger() && !a.Untyped || !calls || !side {
		return false
	}
	dim := b.Spec.Dims[0].Name
	at := slices.IndexFunc(b.Args, func(o Argument) bool { return o.Role == Size && o.Target == dim })
	if at < 0 || b.Args[at].Share != 0 {
		return false
	}
	a.Role, a.Target, a.Index, a.Share = Size, dim, 0, 2
	b.Args[at].Share = 1
	if slices.IndexFunc(b.Args, func(o Argument) bool { return o.Name == a.Name }) < at {
		a.Share, b.Args[at].Share = 1, 2
	}
	return true
}

// unmatchedSizes lists the dims that a parameter with an uninformative name may stand for; of several, those
// that --dims fixes are dropped, or if all are fixed, those fixed at 1.
func (b *Binding) unmatchedSizes(p cfacts.Param) []int {
	var open []int
	for k, d := range b.Spec.Dims {
		if p.IsInteger() && !b.covered[d.Name] && !b.givesSize(d.Name) {
			open = append(open, k)
		}
	}
	for _, unlikely := range []func(dim string) bool{
		func(dim string) bool { _, fixed := b.Options.Dims[dim]; return fixed },
		func(dim string) bool { return b.Options.Dims[dim] == 1 },
	} {
		drop := func(k int) bool { return unlikely(b.Spec.Dims[k].Name) }
		if left := slices.DeleteFunc(slices.Clone(open), drop); len(left) > 0 {
			open = left
		}
	}
	return open
}

// givesSize reports whether a parameter stands for a dim, alone or among equal ones or factors.
func (b *Binding) givesSize(dim string) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool {
		return a.Role == Size && slices.Contains(dimsOf(a.Target), dim)
	})
}

// checkTensors refuses a function without a parameter for a tensor and names the tensor.
func (b *Binding) checkTensors() error {
	missing := eachOf(b.unmatched(Input, b.inputs), func(i int) string { return b.inputs[i].Name })
	if !b.Function.MayReturn() || b.fills() { // else it returns them
		missing = append(missing, eachOf(b.unmatched(Output, b.outputs),
			func(i int) string { return b.outputs[i].Name })...)
	}
	// A backward need not read every input.
	if b.Pass == op.Backward {
		missing = slices.DeleteFunc(missing, func(name string) bool {
			return named(b.inputs, name) >= 0
		})
	}
	if len(missing) > 0 && b.Function.ReturnsTensors && b.inPlace() {
		return b.errorf("it returns something and writes in the place of an input (%s): triad calls "+
			"functions that do one of both; judge one that takes %s as "+
			"well", b.Matched(), strings.Join(missing, ", "))
	}
	if len(missing) > 0 {
		return b.errorf("no parameter for %s: %s %v takes %s and gives %s (matched: %s)",
			strings.Join(missing, ", "), b.Spec.Name, b.Pass, tensorNames(b.inputs), tensorNames(b.outputs),
			b.Matched())
	}
	return nil
}

// checkSizes gives the sizes without a parameter the value that the file gives them, else 1. It refuses a
// function that does not take the last size of its first input.
func (b *Binding) checkSizes(file *cfacts.File) error {
	b.implied = map[string]int64{}
	if b.Function.ShowsSizes() {
		for _, name := range b.Options.Without {
			b.implied[name] = 1
		}
		stated := b.takesSizes() && b.fills() && b.givesAnySize()
		asks := func(a Argument) bool { return a.TorchTensor && asksSizes(&b.Function, a.Name, -1, 0) }
		if !stated || b.Function.Kind != cfacts.Python && slices.ContainsFunc(b.Args, asks) {
			return nil // its tensors carry their sizes
		}
	}
	for _, d := range b.Spec.Dims {
		if _, fixed := b.Options.Dims[d.Name]; fixed || b.covered[d.Name] || b.givesSize(d.Name) ||
			b.lastOffset(d.Name) || b.Launch != nil && b.Launch.uses(d.Name) && !b.endsWith(file, d.Name) ||
			b.Spec.HoldsSize(d.Name) || b.each && b.givesSize(b.Spec.Own.Each[d.Name]) {
			continue
		}
		n, constant := b.constantSize(file, d.Name)
		if block, one := b.ofOneBlock(file, d.Name); one && !constant {
			n, constant = block, true
		}
		list, _ := b.inputs[0].Shape.([]any)
		if !constant && (len(list) == 0 || list[len(list)-1] == d.Name || !b.givesAnySize()) {
			return b.errorf("no parameter for the size %s of %s (matched: %s): fix it with --dims %s, or "+
				"add a parameter", d.Name, b.Spec.Name, b.Matched(), d.Name+"=1")
		}
		b.implied[d.Name] = max(n, 1)
	}
	return nil
}

// endsWith reports whether the lines compare an index with the file's constant of that size.
func (b *Binding) endsWith(file *cfacts.File, dim string) bool {
	_, compared := comparedSizes(file, b.Function).values[constantOf(file, b, dim)]
	return compared && b.Function.Kind == cfacts.Kernel
}

// lastOffset reports whether a size is the last offset that a function gets, so it needs no parameter.
func (b *Binding) lastOffset(dim string) bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool {
		if a.Role != Input {
			return false
		}
		fill, err := op.ParseFill(b.inputs[a.Index].Fill)
		return err == nil && fill.Kind == "offsets" && fill.Of == dim
	})
}

// takesSizes reports whether a Python function is called like a CUDA one, with sizes besides the tensors.
func (b *Binding) takesSizes() bool {
	return slices.ContainsFunc(b.Function.Params, func(p cfacts.Param) bool {
		return p.IsInteger() && !p.Optional && p.Place == cfacts.InCall && b.Function.Form != kernelForm
	})
}

// constantSize returns the value that a constant of the file gives a size by its name: #define HEAD_DIM 64.
func (b *Binding) constantSize(file *cfacts.File, dim string) (int64, bool) {
	name := constantOf(file, b, dim)
	n, err := strconv.ParseInt(strings.Trim(file.Defines[name], "() "), 0, 64)
	return n, err == nil
}

// constantOf returns the name of the file's constant that stands for a size, or "" if there is none.
func constantOf(f *cfacts.File, b *Binding, dim string) string {
	for _, name := range slices.Sorted(maps.Keys(f.Defines)) {
		n, err := strconv.ParseInt(strings.Trim(f.Defines[name], "() "), 0, 64)
		if err == nil && n > 0 && match.Score(b.Spec, b.Pass, name, dim) > match.Weak {
			return name
		}
	}
	return ""
}

// givesAnySize reports whether some parameter stands for a size.
func (b *Binding) givesAnySize() bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Role == Size })
}

// fixed returns the value of a size without a parameter: the user's, else the implied one.
func (b *Binding) fixed(dim string) (n int64, ok bool) {
	if n, ok = b.Options.Dims[dim]; ok {
		return n, !b.givesSize(dim)
	}
	n, ok = b.implied[dim]
	return n, ok
}

// Fixed returns the sizes without a parameter with their values, and those of a file's only launch.
func (b *Binding) Fixed() map[string]int64 {
	all := maps.Clone(b.implied)
	for _, d := range b.Spec.Dims {
		if n, ok := b.fixed(d.Name); ok && b.Function.Kind != cfacts.Python {
			all[d.Name] = n
		}
	}
	maps.Copy(all, b.Options.Bound)
	maps.Copy(all, b.oddSizes)
	maps.Copy(all, b.askedSizes)
	if said := b.Options.said; said != nil { // of sizes with a parameter too
		maps.Copy(all, said.dims)
	}
	return all
}
