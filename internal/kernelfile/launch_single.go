package kernelfile

import (
	"fmt"
	"strings"

	"triad/internal/op"
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
