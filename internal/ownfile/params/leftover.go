package params

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/launches"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/observed"
)

// matchLeftover assigns what is left to the parameters with uninformative names, by type and order. It fails
// if that is ambiguous.
func matchLeftover(b *binding.Binding, chosen []binding.Candidate) error {
	b.Args = make([]binding.Argument, len(chosen))
	var pointers, numbers []int
	for i, c := range chosen {
		b.Args[i] = binding.Argument{
			Param: b.Function.Params[i], Role: c.Role, Target: c.Target, Index: c.Index,
		}
	}
	takeReturned(b, chosen)
	adapters.MatchInPlace(b)
	chooseAdapter(b)
	for i := range chosen {
		switch {
		case b.Args[i].Role != binding.Nothing, extents.TakeAxis(b, &b.Args[i]):
		case b.Args[i].Optional,
			b.Args[i].Place == cfacts.InInit: // it keeps its default, or get_init_inputs() has it
		case b.Args[i].Pointer || b.Args[i].Untyped:
			pointers = append(pointers, i)
		default:
			numbers = append(numbers, i)
		}
	}
	if err := leftoverPointers(b, pointers); err != nil {
		return err
	}
	if err := leftoverNumbers(b, numbers); err != nil {
		return err
	}
	adapters.Widen(b)
	return nil
}

// unmatched lists the tensors that no parameter stands for yet.
func unmatched(b *binding.Binding, role binding.Role, tensors []op.TensorSpec) []int {
	var list []int
	for i, t := range tensors {
		if !b.Has(role, t.Name) && !t.Optional && !b.LeftOut(t) && !b.Without[t.Name] {
			list = append(list, i)
		}
	}
	return list
}

func leftoverPointers(b *binding.Binding, pointers []int) error {
	pointers = slices.DeleteFunc(pointers, func(i int) bool {
		a := &b.Args[i]
		return adapters.TakeZeros(b, a) || a.Untyped && takeShare(b, a)
	})
	inputs, outputs := unmatched(b, binding.Input, b.InputSpecs), unmatched(b, binding.Output, b.OutputSpecs)
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
		in, out := b.InputSpecs[inputs[0]].Name, b.OutputSpecs[outputs[0]].Name
		if b.Pass == op.Forward && b.Function.Kind != cfacts.Python && b.Spec.Own.InPlace[out] == in {
			inputs = nil // pairInPlace gives the output its input
		}
	}
	ownResult := b.Function.ReturnsTensors && len(written) > 0 // its result does not go to a parameter
	if ownResult || len(read) != len(inputs) ||
		len(written) != len(outputs) && !(returns && len(written) == 0) {
		return b.Errorf("what %s stands for is not clear: %s %v takes %s and gives %s",
			strings.Join(binding.EachOf(pointers, func(i int) string { return b.Args[i].Name }), ", "),
			b.Spec.Name, b.Pass, binding.TensorNames(b.InputSpecs), binding.TensorNames(b.OutputSpecs))
	}
	for k, i := range read {
		b.Args[i].Role, b.Args[i].Target, b.Args[i].Index = binding.Input, b.InputSpecs[inputs[k]].Name,
			inputs[k]
	}
	for k, i := range written[:min(len(written), len(outputs))] {
		b.Args[i].Role, b.Args[i].Target, b.Args[i].Index = binding.Output, b.OutputSpecs[outputs[k]].Name,
			outputs[k]
	}
	return nil
}

func leftoverNumbers(b *binding.Binding, numbers []int) error {
	for _, i := range numbers {
		a := &b.Args[i]
		var open []binding.Candidate
		for _, k := range unmatchedSizes(b, a.Param) {
			open = append(open, binding.Candidate{Role: binding.Size, Target: b.Spec.Dims[k].Name, Index: k})
		}
		for k, t := range b.Spec.Attributes {
			fits := a.IsFloat() && t.Type == "float" || a.IsBool() && t.Type == "bool"
			if !b.Has(binding.Attribute, t.Name) && fits {
				open = append(open, binding.Candidate{Role: binding.Attribute, Target: t.Name, Index: k})
			}
		}
		if takeStride(b, a) || adapters.TakePlainFactor(b, a) || takeElements(b, a, numbers) {
			continue
		}
		// of several the first, since rows are usually written before columns
		if len(open) > 0 && !binding.CountsThreads(a.Param) && !countsBlocks(a.Param) {
			a.Role, a.Target, a.Index = open[0].Role, open[0].Target, open[0].Index
			continue
		}
		if !takeConstant(b, a) && !takeShare(b, a) {
			has := strings.Join(binding.DimNames(b.Spec), ", ")
			if attributes := binding.AttributeNames(b.Spec); len(attributes) > 0 {
				has += " and the attributes " + strings.Join(attributes, ", ")
			}
			return b.Errorf("what %s stands for is not clear: %s has the sizes %s", a.Name, b.Spec.Name, has)
		}
	}
	return nil
}

// takeStride takes a number whose name denotes a stride or a leading dimension for the row stride of the
// first tensor, or of the one that the name denotes: without gaps that is the last size.
func takeStride(b *binding.Binding, a *binding.Argument) bool {
	of, is := strideOf(a.Name)
	if !a.IsInteger() || !is {
		return false
	}
	list, _ := b.InputSpecs[0].Shape.([]any)
	for _, arg := range b.Args {
		if (arg.Role == binding.Input || arg.Role == binding.Output) && of != "" &&
			match.Snake(arg.Name) == of {
			list, _ = b.Tensor(arg).Shape.([]any)
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
	a.Role, a.Target, a.Index = binding.Size, last, at
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

// takeConstant takes a remaining number for the threads of a block, for one more factor of the first size, as
// batch and length where the operator has rows, or for another size that is given already and that its name
// denotes: the columns of a and the rows of b.
func takeConstant(b *binding.Binding, a *binding.Argument) bool {
	if binding.CountsThreads(a.Param) {
		threads, of, sides := launches.BlockThreads, "threads of a block", sizesBothSides(b, a.Param)
		if sides {
			threads, of = launches.SideThreads, "threads on each side of a block"
		}
		seen := launches.OfMain(b) // kernels of several blocks do not say which of them is the caller's
		if len(seen) > 0 && (seen[0].Block[1] == seen[0].Block[0] || seen[0].Block[1] == 1 && !sides) &&
			!slices.ContainsFunc(seen, func(l *observed.Launch) bool { return l.Block != seen[0].Block }) {
			threads, of = int(seen[0].Block[0]), "threads of a block along x, as in main()"
		}
		a.Role, a.Target, a.Index = binding.Constant, fmt.Sprintf("%d %s", threads, of), threads
		return true
	}
	at := slices.IndexFunc(b.Spec.Dims, func(d op.DimSpec) bool {
		return b.GivesSize(d.Name) && match.Score(b.Spec, b.Pass, a.Name, d.Name) > match.Weak
	})
	if at < 0 || !a.IsInteger() || b.Function.Kind == cfacts.Python && !b.FillsInPlace() {
		return false
	}
	a.Role, a.Target, a.Index = binding.Size, b.Spec.Dims[at].Name, at
	// (batch, channels, height, width), with height * width: the columns are the channels
	inner := len(b.InputSpecs) == 1 && adapters.Multiplied(b, *a, binding.Constant)
	if at == 0 || inner {
		a.Role, a.Target, a.Index = binding.Constant, "1, as a factor of "+a.Target, 1
	}
	return true
}

// takeShare takes a second size for an operator that has one: the two are its factors, such as the rows and
// columns of an elementwise function.
func takeShare(b *binding.Binding, a *binding.Argument) bool {
	side := match.IsLetter(a.Name) || slices.ContainsFunc(match.Sides[:], func(words []string) bool {
		return slices.Contains(words, match.Snake(a.Name))
	})
	calls := b.Function.Kind == cfacts.Host || b.Function.Kind == cfacts.Python &&
		b.Function.Form == binding.PlainForm
	if len(b.Spec.Dims) != 1 || !a.IsInteger() && !a.Untyped || !calls || !side {
		return false
	}
	dim := b.Spec.Dims[0].Name
	at := slices.IndexFunc(b.Args,
		func(o binding.Argument) bool { return o.Role == binding.Size && o.Target == dim })
	if at < 0 || b.Args[at].Share != 0 {
		return false
	}
	a.Role, a.Target, a.Index, a.Share = binding.Size, dim, 0, 2
	b.Args[at].Share = 1
	if slices.IndexFunc(b.Args, func(o binding.Argument) bool { return o.Name == a.Name }) < at {
		a.Share, b.Args[at].Share = 1, 2
	}
	return true
}

// unmatchedSizes lists the dims that a parameter with an uninformative name may stand for; of several, those
// that --dims fixes are dropped, or if all are fixed, those fixed at 1.
func unmatchedSizes(b *binding.Binding, p cfacts.Param) []int {
	var open []int
	for k, d := range b.Spec.Dims {
		if p.IsInteger() && !b.Covered[d.Name] && !b.GivesSize(d.Name) {
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

// checkTensors refuses a function without a parameter for a tensor and names the tensor.
func checkTensors(b *binding.Binding) error {
	missing := binding.EachOf(unmatched(b, binding.Input, b.InputSpecs),
		func(i int) string { return b.InputSpecs[i].Name })
	if !b.Function.MayReturn() || b.Fills() { // else it returns them
		missing = append(missing, binding.EachOf(unmatched(b, binding.Output, b.OutputSpecs),
			func(i int) string { return b.OutputSpecs[i].Name })...)
	}
	// A backward need not read every input.
	if b.Pass == op.Backward {
		missing = slices.DeleteFunc(missing, func(name string) bool {
			return binding.Named(b.InputSpecs, name) >= 0
		})
	}
	if len(missing) > 0 && b.Function.ReturnsTensors && b.InPlace() {
		return b.Errorf("it returns something and writes in the place of an input (%s): triad calls "+
			"functions that do one of both; judge one that takes %s as "+
			"well", b.Matched(), strings.Join(missing, ", "))
	}
	if len(missing) > 0 {
		return b.Errorf("no parameter for %s: %s %v takes %s and gives %s (matched: %s)",
			strings.Join(missing, ", "), b.Spec.Name, b.Pass, binding.TensorNames(b.InputSpecs),
			binding.TensorNames(b.OutputSpecs), b.Matched())
	}
	return nil
}

// checkSizes gives the sizes without a parameter the value that the file gives them, else 1. It refuses a
// function that does not take the last size of its first input.
func checkSizes(b *binding.Binding, file *cfacts.File) error {
	b.Implied = map[string]int64{}
	if b.Function.ShowsSizes() {
		for _, name := range b.Options.Without {
			b.Implied[name] = 1
		}
		stated := b.TakesSizes() && b.Fills() && b.GivesAnySize()
		asks := func(a binding.Argument) bool {
			return a.TorchTensor && extents.AsksSizes(&b.Function, a.Name, -1, 0)
		}
		if !stated || b.Function.Kind != cfacts.Python && slices.ContainsFunc(b.Args, asks) {
			return nil // its tensors carry their sizes
		}
	}
	for _, d := range b.Spec.Dims {
		if _, fixed := b.Options.Dims[d.Name]; fixed || b.Covered[d.Name] || b.GivesSize(d.Name) ||
			lastOffset(b, d.Name) ||
			b.Launch != nil && launches.Uses(b.Launch, d.Name) && !endsWith(b, file, d.Name) ||
			b.Spec.HoldsSize(d.Name) || b.Each && b.GivesSize(b.Spec.Own.Each[d.Name]) {
			continue
		}
		n, constant := b.ConstantSize(file, d.Name)
		if block, one := launches.OfOneBlock(b, file, d.Name); one && !constant {
			n, constant = block, true
		}
		list, _ := b.InputSpecs[0].Shape.([]any)
		if !constant && (len(list) == 0 || list[len(list)-1] == d.Name || !b.GivesAnySize()) {
			return b.Errorf("no parameter for the size %s of %s (matched: %s): fix it with --dims %s, or "+
				"add a parameter", d.Name, b.Spec.Name, b.Matched(), d.Name+"=1")
		}
		b.Implied[d.Name] = max(n, 1)
	}
	return nil
}

// endsWith reports whether the lines compare an index with the file's constant of that size.
func endsWith(b *binding.Binding, file *cfacts.File, dim string) bool {
	_, compared := extents.ComparedSizes(file, b.Function).Values[binding.ConstantOf(file, b, dim)]
	return compared && b.Function.Kind == cfacts.Kernel
}

// lastOffset reports whether a size is the last offset that a function gets, so it needs no parameter.
func lastOffset(b *binding.Binding, dim string) bool {
	return slices.ContainsFunc(b.Args, func(a binding.Argument) bool {
		if a.Role != binding.Input {
			return false
		}
		fill, err := op.ParseFill(b.InputSpecs[a.Index].Fill)
		return err == nil && fill.Kind == "offsets" && fill.Of == dim
	})
}

// Fixed returns the sizes without a parameter with their values, and those of a file's only launch.
func Fixed(b *binding.Binding) map[string]int64 {
	all := maps.Clone(b.Implied)
	for _, d := range b.Spec.Dims {
		if n, ok := b.Fixed(d.Name); ok && b.Function.Kind != cfacts.Python {
			all[d.Name] = n
		}
	}
	maps.Copy(all, b.Options.Bound)
	maps.Copy(all, b.OddSizes)
	maps.Copy(all, b.AskedSizes)
	if said := b.Options.Said; said != nil { // of sizes with a parameter too
		maps.Copy(all, said.Dims)
	}
	return all
}

// takeElements takes the only number of a function of elements, whatever its name, for the number of
// elements.
func takeElements(b *binding.Binding, a *binding.Argument, numbers []int) bool {
	all := binding.DimNames(b.Spec)
	product := strings.Join(all, " * ")
	if _, counted := b.Spec.Synonyms[product]; !counted || len(all) < 2 || len(numbers) != 1 ||
		!a.IsInteger() || binding.CountsThreads(a.Param) || b.GivesAnySize() ||
		len(b.Options.Dims) > 0 && len(unmatchedSizes(b, a.Param)) < 2 {
		return false
	}
	a.Role, a.Target = binding.Size, product
	return true
}
