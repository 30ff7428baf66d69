package kernelfile

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/launchfit"
)

// numberOf returns the value of an expression of numbers.
func numberOf(text string) (n int64, known bool) {
	e, err := op.ParseExpression(text, func(string) bool { return false }, false)
	if err != nil {
		return 0, false
	}
	n, err = e.Int(func(string) (int64, bool) { return 0, false })
	return n, err == nil
}

// asLaunched returns the interpretation of a lone kernel as main() launches it, with the sizes that it has
// there. One that takes a size is read so if it is the operator's only one and the launch has one block: with
// several sizes, blocks may count one of them. Instead of many blocks it gets a few.
func (b *Binding) asLaunched() (Alternative, bool) {
	o, dims, sized := b.Options, b.Spec.Dims, b.givesAnySize()
	if b.Launch == nil || o.Grid+o.Block != "" || len(o.Bound)+len(o.Dims) > 0 {
		return Alternative{}, false
	}
	k := body{b: b, file: b.file, tokens: b.Function.Body}
	found := k.ownLaunch()
	if found == nil || sized && (len(dims) != 1 || !found.oneBlock) || len(dims) > 2 {
		return Alternative{}, false
	}
	grid, blocks := found.blocks, found.blocks[0]*found.blocks[1]*found.blocks[2]
	n, elements := found.threads[0]*found.threads[1]*found.threads[2]*blocks, k.elementsThere(found)
	for _, a := range b.Args {
		if a.Role == Size {
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
		return Alternative{}, false
	}
	all, said := map[string]int64{dims[0].Name: 1}, []string{}
	all[dims[len(dims)-1].Name] = n
	for _, d := range dims {
		said = append(said, fmt.Sprintf("%s=%d", d.Name, all[d.Name]))
	}
	other := Options{Grid: numbersOf(grid), Block: numbersOf(found.threads), Dims: all}
	if sized {
		other.Dims, other.Bound = nil, all
	}
	return Alternative{
		Flags: fmt.Sprintf("--grid %q --block %q --dims %s", other.Grid, other.Block,
			strings.Join(said, ",")),
		Options: other,
	}, true
}

// numbersOf writes the sides of a grid or a block.
func numbersOf(s [3]int64) string {
	return sizes([3]string{fmt.Sprint(s[0]), fmt.Sprint(s[1]), fmt.Sprint(s[2])})
}

// elementsThere returns the number of elements of the first input where the file launches the kernel; 0 if it
// is unknown.
func (k body) elementsThere(found *foundLaunch) int64 {
	for _, a := range k.b.Args {
		if a.Role == Input && a.Index == 0 {
			return found.elements[a.Name]
		}
	}
	return 0
}

// fewBlocks limits the blocks of a kernel whose file launches more; manyElements limits the elements for a
// file of fixed size.
const fewBlocks, manyElements = 16, 1 << 20

// rowOfABlock returns the interpretation of a lone kernel in which every block reduces its own elements of a
// row to one number, and the row is longer than a block: it is written for rows of one block, and is judged
// with these.
func (b *Binding) rowOfABlock() (Alternative, bool) {
	o := b.Options
	if b.Launch == nil || o.Grid != "" || len(o.Bound) > 0 {
		return Alternative{}, false
	}
	k := body{b: b, file: b.file, tokens: b.Function.Body}
	name := b.lastSize()
	_, asked := o.Dims[name]
	threads, plain := k.number(product(b.Launch.Block))
	if asked || !plain || threads < 2 || !b.givesSize(name) || !k.reducesPartOfARow(b.file) {
		return Alternative{}, false
	}
	return Alternative{
		Flags:   fmt.Sprintf("--dims %s=%d", name, threads),
		Options: Options{Bound: map[string]int64{name: int64(threads)}},
	}, true
}

// ofOneBlock returns the number of elements of a lone kernel that has no size and uses one block alone: as
// many as its file allocates where it launches it, else one for each of its threads, or two where the lines
// say so, "i = 2 * threadIdx.x" or "x[t] + x[t + blockDim.x]". It is a guess, and the kernel is judged with
// that many; of two sizes the first is 1.
func (b *Binding) ofOneBlock(file *cfacts.File, dim string) (n int64, is bool) {
	k := body{b: b, file: file, tokens: b.Function.Body}
	flat := false // its elements are counted together
	if len(b.Spec.Dims) == 2 {
		_, flat = b.Spec.Synonyms[b.Spec.Dims[0].Name+" * "+b.Spec.Dims[1].Name]
	}
	if b.Function.Kind != cfacts.Kernel || b.givesAnySize() || len(b.Spec.Dims) != 1 && !flat {
		return 0, false
	}
	for _, axis := range launchfit.Axes {
		if k.uses(k.tokens, "blockIdx", axis) {
			return 0, false
		}
	}
	threads, known := k.number(product(b.Launch.Block))
	if !known {
		var all int64
		all, known = numberOf(product(b.Launch.Block))
		threads = int(all)
	}
	if !known || threads < 2 || !k.uses(k.tokens, "threadIdx", "x") {
		return 0, false
	}
	b.Launch.guessed = true
	if dim != b.Spec.Dims[len(b.Spec.Dims)-1].Name {
		return 1, true
	}
	if found := k.ownLaunch(); found != nil && k.elementsThere(found) > 1 {
		return k.elementsThere(found), true
	}
	if k.takesTwo(threads) {
		threads *= 2
	}
	return int64(threads), true
}

// takesTwo reports whether a thread of a block of this many threads begins with two elements.
func (k body) takesTwo(threads int) bool {
	tokens := k.expandAliases()
	for i, t := range tokens {
		switch {
		case t.Text == "threadIdx" && (cfacts.TextsAt(tokens, i-2, "2", "*") ||
			cfacts.TextsAt(tokens, i+3, "*", "2")),
			cfacts.TextsAt(tokens, i, "+", "blockDim", cfacts.AnyText, cfacts.AnyText, "]"),
			cfacts.TextsAt(tokens, i, "=", "blockDim", cfacts.AnyText, cfacts.AnyText,
				";"): // the first stride
			return true
		case cfacts.TextsAt(tokens, i, "+", cfacts.AnyText, "]"):
			if n, known := k.number(tokens[i+1].Text); known && n == threads {
				return true
			}
		}
	}
	return false
}

// sizesOfOneBlock returns sizes for which one block has a thread for each element, for a kernel that is
// launched so for all of them: the operator's own quick sizes are larger than a block, or nothing.
func (b *Binding) sizesOfOneBlock() []map[string]int64 {
	if b.Function.Kind != cfacts.Kernel || b.Launch == nil || len(b.Options.Dims)+len(b.Options.Bound) > 0 ||
		b.Launch.Grid != [3]string{"1", "1", "1"} {
		return nil
	}
	names := cfacts.Lex(product(b.Launch.Block)).Tokens
	for _, dim := range b.neededDims() {
		if !slices.ContainsFunc(names, func(t cfacts.Token) bool { return t.Text == dim }) {
			return nil
		}
	}
	switch needed := b.neededDims(); len(needed) {
	case 1:
		return []map[string]int64{{needed[0]: 1000}}
	case 2:
		return []map[string]int64{{needed[0]: 7, needed[1]: 143}}
	}
	return nil
}

// sharedOfMain returns the C++ with which main() allows the kernel that a function launches more than 48 KiB
// of shared memory, if the function does not do so itself.
func (b *Binding) sharedOfMain() string {
	if b.file == nil || b.Function.Kind != cfacts.Host ||
		cfacts.HasTexts(b.Function.Body, "cudaFuncSetAttribute") ||
		!b.file.Main || !asksShared(b.file) {
		return ""
	}
	run := b.file.Observed()
	if run == nil || run.Shared() == 0 {
		return ""
	}
	code := ""
	for _, e := range run.Events {
		if l := e.Launch; l != nil && b.launchesKernel(l.Name()) && code == "" {
			code = fmt.Sprintf("\tcudaFuncSetAttribute(%s, cudaFuncAttributeMaxDynamicSharedMemorySize, "+
				"%d);\n", l.Kernel, run.Shared())
		}
	}
	return code
}

// launchesKernel reports whether the lines of the function launch a kernel.
func (b *Binding) launchesKernel(name string) bool {
	for i, t := range b.Function.Body {
		if t.Text == "<<<" && cfacts.LaunchedName(b.Function.Body, i) == name {
			return true
		}
	}
	return false
}

// asksShared reports whether the file allows a kernel more shared memory than usual.
func asksShared(f *cfacts.File) bool { return cfacts.HasTexts(f.Tokens, "cudaFuncSetAttribute") }
