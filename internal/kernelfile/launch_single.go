package kernelfile

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
)

// value returns the number that an expression of the caller evaluates to, if it has only constants.
func (c callSite) value(words []token) (n int64, known bool) {
	text, known := c.expression(words, 0)
	if !known {
		return 0, false
	}
	return numberOf(text)
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

// asLaunched returns the reading of a lone kernel that its file launches as one block, with numbers for all
// of its sizes: one that shares nothing between blocks is written for them, and is judged with them alone.
// With several sizes, blocks may count one of them, such as rows, so only an operator of one size is read so.
func (b *Binding) asLaunched() (Alternative, bool) {
	o := b.Options
	if b.Launch == nil || o.Grid != "" || o.Block != "" || len(o.Bound) > 0 {
		return Alternative{}, false
	}
	k := body{b: b, file: b.file, tokens: b.Function.body}
	found := k.ownLaunch()
	if found != nil && !b.givesAnySize() {
		return k.threadForEach(found)
	}
	if found == nil || len(b.Spec.Dims) != 1 || !found.oneBlock || found.block[0] == "" {
		return Alternative{}, false
	}
	name := b.Spec.Dims[0].Name
	_, asked := o.Dims[name]
	i := slices.IndexFunc(b.Args, func(a Argument) bool { return a.Role == Size && a.Target == name })
	if i < 0 || asked || found.handed[b.Args[i].Name] < 2 {
		return Alternative{}, false
	}
	n := found.handed[b.Args[i].Name]
	block := sizes(found.block)
	if threads, plain := k.number(strings.Trim(product(found.block), "()")); plain {
		block = fmt.Sprint(threads)
	}
	return Alternative{
		Flags:   fmt.Sprintf("--grid \"1\" --block %q --dims %s=%d", block, name, n),
		Options: Options{Grid: "1", Block: block, Bound: map[string]int64{name: n}},
	}, true
}

// threadForEach returns the reading of a kernel without any size that its file launches with numbers:
// "add<<<1, 256>>>(a, b, c)". It is judged with as many elements as it has threads there, or as its file
// allocates for each of the blocks; instead of many blocks it gets a few.
func (k body) threadForEach(found *foundLaunch) (Alternative, bool) {
	dims := k.b.Spec.Dims
	if len(k.b.Options.Dims) > 0 || len(dims) > 2 || found.block[0] == "" {
		return Alternative{}, false
	}
	grid := found.blocks
	each, blocks := int64(1), int64(1)
	for axis := range grid {
		side, known := k.number(strings.Trim(found.block[axis], "()"))
		if !known || side < 1 || grid[axis] < 1 {
			return Alternative{}, false
		}
		each, blocks = each*int64(side), blocks*grid[axis]
	}
	if n := k.elementsThere(found); n >= blocks && n%blocks == 0 {
		each = n / blocks
	}
	if grid[1]*grid[2] == 1 && blocks > fewBlocks {
		grid[0], blocks = fewBlocks, fewBlocks
	}
	if n := each * blocks; n < 2 || n > manyElements {
		return Alternative{}, false
	}
	all, said := map[string]int64{dims[0].Name: 1}, []string{}
	all[dims[len(dims)-1].Name] = each * blocks
	for _, d := range dims {
		said = append(said, fmt.Sprintf("%s=%d", d.Name, all[d.Name]))
	}
	o := Options{Grid: sizes([3]string{
		fmt.Sprint(grid[0]), fmt.Sprint(grid[1]), fmt.Sprint(grid[2]),
	}), Block: sizes(found.block), Dims: all}
	return Alternative{
		Flags:   fmt.Sprintf("--grid %q --block %q --dims %s", o.Grid, o.Block, strings.Join(said, ",")),
		Options: o,
	}, true
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

// rowOfABlock returns the reading of a lone kernel in which every block reduces its own elements of a row to
// one number, and the row is longer than a block: it is written for rows of one block, and is judged with
// these.
func (b *Binding) rowOfABlock() (Alternative, bool) {
	o := b.Options
	if b.Launch == nil || o.Grid != "" || len(o.Bound) > 0 {
		return Alternative{}, false
	}
	k := body{b: b, file: b.file, tokens: b.Function.body}
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
