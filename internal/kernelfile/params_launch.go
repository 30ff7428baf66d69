package kernelfile

import (
	"fmt"
	"slices"
	"strings"
)

// gridNames lists common names for the number of blocks in a grid.
var gridNames = []string{
	"grid", "grid_dim", "grid_size", "gridsize", "blocks", "num_blocks", "nblocks", "n_blocks",
	"blocks_per_grid", "user_grid_size",
}

// takeLaunch gives a parameter that a host function uses as the grid or the block of its launch the value
// that the lines of the launched kernel show: a caller would choose that.
func (b *Binding) takeLaunch(a *Argument) bool {
	name := snake(a.Name)
	first, second := b.Function.launchedWith(a.Name)
	grid := slices.Contains(gridNames, name) || first
	block := slices.Contains(blockNames, name) || name == "block" || second
	if b.Function.Kind != Host || !grid && !block || !a.isInteger() && !a.isDim3() {
		return false
	}
	l := b.kernelLaunch()
	if l == nil {
		return false
	}
	sides := l.Block
	if grid {
		sides = l.Grid
	}
	if b.sizesBothSides(a.Param) && !a.isDim3() {
		if sides[0] != sides[1] {
			return false
		}
		sides = [3]string{sides[0], "1", "1"}
	}
	a.Role, a.sides = Constant, sides
	a.Target = fmt.Sprintf("the %s of its launch, %s", map[bool]string{true: "grid", false: "block"}[grid],
		strings.ReplaceAll(sizes(sides), " * ", "*"))
	return true
}

// launchedWith reports whether a function uses a parameter as the grid or the block of its launches.
func (fn *Function) launchedWith(param string) (grid, block bool) {
	for i, t := range fn.body {
		if t.text != "<<<" {
			continue
		}
		parts := split(fn.body[i+1 : configurationEnd(fn.body, i)])
		for at := range min(len(parts), 2) {
			part := parts[at]
			if len(part) == 1 && part[0].text != param { // dim3 block(n, n);
				part = defined(fn.body[:i], part[0].text)
			}
			if onlyOf(part, param) {
				grid, block = grid || at == 0, block || at == 1
			}
		}
	}
	return grid, block
}

// onlyOf reports whether a grid or a block consists of one parameter, alone or on each of its sides: "dim3(n,
// n)".
func onlyOf(part []token, param string) bool {
	named := false
	for _, t := range part {
		if t.text != param && t.isName() && t.text != "dim3" || t.beginsWithDigit() && t.text != "1" ||
			strings.ContainsAny(t.text, "+-*/.") {
			return false
		}
		named = named || t.text == param
	}
	return named
}

// kernelLaunch returns the launch that the lines of the launched kernels show, or nil if they show none or
// contradict each other.
func (b *Binding) kernelLaunch() (launch *Launch) {
	for i, t := range b.Function.body {
		if t.text != "<<<" {
			continue
		}
		kernel, _ := b.file.called(&b.Function, i)
		if kernel == nil {
			continue
		}
		options := Options{
			Attrs: b.Options.Attrs, Dims: b.Options.Dims, Several: true, alone: true,
			Arguments: b.handedArguments(i),
		}
		alone, err := Match(b.file, *kernel, b.Spec, b.Pass, options)
		if err != nil || alone.Launch == nil || alone.Launch.guessed {
			continue
		}
		if launch != nil && (launch.Grid != alone.Launch.Grid || launch.Block != alone.Launch.Block) {
			return nil
		}
		launch = alone.Launch
	}
	return launch
}

// handedArguments returns the template arguments of the kernel that a templated function launches at a <<<,
// with the function's own arguments inserted. It returns none if one is neither a type nor a number.
func (b *Binding) handedArguments(at int) []string {
	tokens := b.Function.body
	if at < 2 || tokens[at-1].text != ">" {
		return nil
	}
	open := at - 2
	for open > 0 && tokens[open].text != "<" {
		open--
	}
	return b.file.templateWords(tokens[open+1:at-1], func(part []token) (int64, bool) {
		n, known := body{b: b, file: b.file}.number(join(part))
		return int64(n), known
	})
}

// isDim3 reports whether a parameter is a dim3.
func (p Param) isDim3() bool { return !p.Pointer && p.Base == "dim3" }

// blockNames lists common names for the number of threads in a block.
var blockNames = []string{
	"block_size", "blocksize", "threads", "num_threads", "nthreads", "n_threads",
	"block_dim", "tpb", "threads_per_block",
}

// countsThreads reports whether a parameter is, by its name, the number of threads in a block.
func (p Param) countsThreads() bool {
	return p.isInteger() && slices.Contains(blockNames, snake(p.Name))
}

// sizesBothSides reports whether the lines use a number twice, as the sides of a block: "dim3 block(n, n)",
// "n * n".
func (b *Binding) sizesBothSides(p Param) bool {
	return b.speaksOf(func(t []token) bool {
		return t[0].text == p.Name && t[2].text == p.Name && (t[1].text == "," || t[1].text == "*")
	})
}
