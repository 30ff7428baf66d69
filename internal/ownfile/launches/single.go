package launches

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/launchfit"
	"triad/internal/ownfile/observed"
)

// LastSize returns the last size of the first output: a thread for each column.
func LastSize(b *binding.Binding) string {
	if sizes := OutputSizes(b); len(sizes) > 0 {
		return sizes[len(sizes)-1]
	}
	return "1"
}

// numberOf returns the value of an expression of numbers.
func numberOf(text string) (n int64, known bool) {
	e, err := op.ParseExpression(text, func(string) bool { return false }, false)
	if err != nil {
		return 0, false
	}
	n, err = e.Int(func(string) (int64, bool) { return 0, false })
	return n, err == nil
}

// AsLaunched returns the interpretation of a lone kernel as main() launches it, with the sizes that it has
// there. One that takes a size is read so if it is the operator's only one and the launch has one block: with
// several sizes, blocks may count one of them. Instead of many blocks it gets a few.
func AsLaunched(b *binding.Binding) (binding.Alternative, bool) {
	o, dims, sized := b.Options, b.Spec.Dims, b.GivesAnySize()
	if b.Launch == nil || o.Grid+o.Block != "" || len(o.Bound)+len(o.Dims) > 0 {
		return binding.Alternative{}, false
	}
	k := binding.Body{B: b, File: b.File, Tokens: b.Function.Body}
	found := ownLaunch(k)
	if found == nil || sized && (len(dims) != 1 || !found.oneBlock) || len(dims) > 2 ||
		sized && b.IsDim(found.block[0]) {
		return binding.Alternative{}, false
	}
	grid, blocks := found.blocks, found.blocks[0]*found.blocks[1]*found.blocks[2]
	n, elements := found.threads[0]*found.threads[1]*found.threads[2]*blocks, elementsThere(k, found)
	for _, a := range b.Args {
		if a.Role == binding.Size {
			elements = found.handed[a.Name]
		}
	}
	if sized || elements >= blocks && elements%blocks == 0 {
		n = elements
	}
	if grid[1]*grid[2] == 1 && blocks > fewBlocks {
		grid[0], n = fewBlocks, n/blocks*fewBlocks
	}
	if n < 2 || n > manyElements {
		return binding.Alternative{}, false
	}
	all, said := map[string]int64{dims[0].Name: 1}, []string{}
	all[dims[len(dims)-1].Name] = n
	for _, d := range dims {
		said = append(said, fmt.Sprintf("%s=%d", d.Name, all[d.Name]))
	}
	other := binding.Options{Grid: numbersOf(grid), Block: numbersOf(found.threads), Dims: all}
	if sized {
		other.Dims, other.Bound = nil, all
	}
	return binding.Alternative{
		Flags: fmt.Sprintf("--grid %q --block %q --dims %s", other.Grid, other.Block,
			strings.Join(said, ",")),
		Options: other,
	}, true
}

// numbersOf writes the sides of a grid or a block.
func numbersOf(s [3]int64) string {
	return binding.Sizes([3]string{fmt.Sprint(s[0]), fmt.Sprint(s[1]), fmt.Sprint(s[2])})
}

// elementsThere returns the number of elements of the first input where the file launches the kernel; 0 if it
// is unknown.
func elementsThere(k binding.Body, found *foundLaunch) int64 {
	for _, a := range k.B.Args {
		if a.Role == binding.Input && a.Index == 0 {
			return found.elements[a.Name]
		}
	}
	return 0
}

// fewBlocks limits the blocks of a kernel whose file launches more; manyElements limits the elements for a
// file of fixed size.
const fewBlocks, manyElements = 16, 1 << 20

// RowOfABlock returns the interpretation of a lone kernel in which every block reduces its own elements of a
// row to one number, and the row is longer than a block: it is written for rows of one block, and is judged
// with these.
func RowOfABlock(b *binding.Binding) (binding.Alternative, bool) {
	o := b.Options
	if b.Launch == nil || o.Grid != "" || len(o.Bound) > 0 {
		return binding.Alternative{}, false
	}
	k := binding.Body{B: b, File: b.File, Tokens: b.Function.Body}
	name := LastSize(b)
	_, asked := o.Dims[name]
	threads, plain := number(k, Product(b.Launch.Block))
	if asked || !plain || threads < 2 || !b.GivesSize(name) || !reducesPartOfARow(k, b.File) {
		return binding.Alternative{}, false
	}
	return binding.Alternative{
		Flags:   fmt.Sprintf("--dims %s=%d", name, threads),
		Options: binding.Options{Bound: map[string]int64{name: int64(threads)}},
	}, true
}

// OfOneBlock returns the number of elements of a lone kernel that has no size and uses one block alone: as
// many as its file allocates where it launches it, else one for each of its threads, or two where the lines
// say so, "i = 2 * threadIdx.x" or "x[t] + x[t + blockDim.x]". It is a guess, and the kernel is judged with
// that many; of two sizes the first is 1.
func OfOneBlock(b *binding.Binding, file *cfacts.File, dim string) (n int64, is bool) {
	k := binding.Body{B: b, File: file, Tokens: b.Function.Body}
	flat := false // its elements are counted together
	if len(b.Spec.Dims) == 2 {
		_, flat = b.Spec.Synonyms[b.Spec.Dims[0].Name+" * "+b.Spec.Dims[1].Name]
	}
	if b.Function.Kind != cfacts.Kernel || b.GivesAnySize() || len(b.Spec.Dims) != 1 && !flat {
		return 0, false
	}
	for _, axis := range launchfit.Axes {
		if uses(k, k.Tokens, "blockIdx", axis) {
			return 0, false
		}
	}
	threads, known := number(k, Product(b.Launch.Block))
	if !known {
		var all int64
		all, known = numberOf(Product(b.Launch.Block))
		threads = int(all)
	}
	if !known || threads < 2 || !uses(k, k.Tokens, "threadIdx", "x") {
		return 0, false
	}
	b.Launch.Guessed = true
	if dim != b.Spec.Dims[len(b.Spec.Dims)-1].Name {
		return 1, true
	}
	if found := ownLaunch(k); found != nil && elementsThere(k, found) > 1 {
		return elementsThere(k, found), true
	}
	if takesTwo(k, threads) {
		threads *= 2
	}
	return int64(threads), true
}

// takesTwo reports whether a thread of a block of this many threads begins with two elements.
func takesTwo(k binding.Body, threads int) bool {
	tokens := expandAliases(k)
	for i, t := range tokens {
		switch {
		case t.Text == "threadIdx" && (cfacts.TextsAt(tokens, i-2, "2", "*") ||
			cfacts.TextsAt(tokens, i+3, "*", "2")),
			cfacts.TextsAt(tokens, i, "+", "blockDim", cfacts.AnyText, cfacts.AnyText, "]"),
			cfacts.TextsAt(tokens, i, "=", "blockDim", cfacts.AnyText, cfacts.AnyText,
				";"): // the first stride
			return true
		case cfacts.TextsAt(tokens, i, "+", cfacts.AnyText, "]"):
			if n, known := number(k, tokens[i+1].Text); known && n == threads {
				return true
			}
		}
	}
	return false
}

// sizesOfOneBlock returns sizes for which one block has a thread for each element, for a kernel that is
// launched so for all of them: the operator's own quick sizes are larger than a block, or nothing.
func sizesOfOneBlock(b *binding.Binding) []map[string]int64 {
	if b.Function.Kind != cfacts.Kernel || b.Launch == nil || len(b.Options.Dims)+len(b.Options.Bound) > 0 ||
		b.Launch.Grid != [3]string{"1", "1", "1"} {
		return nil
	}
	names := cfacts.Lex(Product(b.Launch.Block)).Tokens
	for _, dim := range extents.NeededDims(b) {
		if !slices.ContainsFunc(names, func(t cfacts.Token) bool { return t.Text == dim }) {
			return nil
		}
	}
	switch needed := extents.NeededDims(b); len(needed) {
	case 1:
		return []map[string]int64{{needed[0]: 1000}}
	case 2:
		return []map[string]int64{{needed[0]: 7, needed[1]: 143}}
	}
	return nil
}

// SharedOfMain returns the C++ with which main() allows the kernel that a function launches more than 48 KiB
// of shared memory, if the function does not do so itself.
func SharedOfMain(b *binding.Binding) string {
	if b.File == nil || b.Function.Kind != cfacts.Host ||
		cfacts.HasTexts(b.Function.Body, "cudaFuncSetAttribute") || !b.File.Main || !asksShared(b.File) {
		return ""
	}
	all, shared := OfMain(b), b.File.Observed().Shared()
	if len(all) == 0 || shared == 0 {
		return ""
	}
	return fmt.Sprintf("\tcudaFuncSetAttribute(%s, cudaFuncAttributeMaxDynamicSharedMemorySize, %d);\n",
		all[0].Kernel, shared)
}

// OfMain returns the launches by main() of the kernels that the lines of the function launch, in order.
func OfMain(b *binding.Binding) (all []*observed.Launch) {
	for _, e := range b.File.Observed().Events {
		for i, t := range b.Function.Body {
			l := e.Launch
			if l != nil && t.Text == "<<<" && cfacts.LaunchedName(b.Function.Body, i) == l.Name() {
				all = append(all, l)
			}
		}
	}
	return all
}

// asksShared reports whether the file allows a kernel more shared memory than usual.
func asksShared(f *cfacts.File) bool { return cfacts.HasTexts(f.Tokens, "cudaFuncSetAttribute") }

// MoreShapes returns sizes that a function is judged at in addition to the operator's. A Python function that
// is given two factors of a size gets some with two factors that are not multiples of a tile, and one that is
// a row: the operator's own are primes. One that takes a square gets a square larger than a tile: the
// operator's own have few rows. A kernel of one block gets a size that the block has threads for.
func MoreShapes(b *binding.Binding) (all []map[string]int64) {
	square := func(a binding.Argument) bool {
		return a.Role == binding.Size && strings.Contains(a.Target, "=")
	}
	if len(b.Spec.Dims) == 2 && b.Function.Kind == cfacts.Python && slices.ContainsFunc(b.Args, square) {
		all = append(all, map[string]int64{b.Spec.Dims[0].Name: 67, b.Spec.Dims[1].Name: 67})
	}
	all = append(all, sizesOfOneBlock(b)...)
	for _, d := range b.Spec.Dims {
		for _, n := range []int64{29 * 37, 63 * 65, 257} {
			if b.Function.Kind == cfacts.Python && len(b.Spec.Dims) == 1 && extents.HasFactors(b, d.Name) {
				all = append(all, map[string]int64{d.Name: n})
			}
		}
	}
	return all
}
