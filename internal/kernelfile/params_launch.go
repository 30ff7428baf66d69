package kernelfile

import (
	"fmt"
	"slices"
	"strings"
)

// gridNames are what people call the number of blocks in a grid.
var gridNames = []string{
	"grid", "grid_dim", "grid_size", "gridsize", "blocks", "num_blocks", "nblocks", "n_blocks",
	"blocks_per_grid", "user_grid_size",
}

// takeLaunch takes what a host function hands on to its launch, the blocks of its grid or the threads of its
// block, for what the lines of the kernel that it launches say: the caller chooses them so.
func (b *Binding) takeLaunch(a *Argument) bool {
	name := snake(a.Name)
	grid := slices.Contains(gridNames, name)
	block := slices.Contains(blockNames, name) || name == "block"
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
	a.Role, a.sides = Constant, sides
	a.Target = fmt.Sprintf("the %s of its launch, %s", map[bool]string{true: "grid", false: "block"}[grid],
		strings.ReplaceAll(sizes(sides), " * ", "*"))
	return true
}

// kernelLaunch is the launch that the lines of the first kernel that the function launches say; nil where
// they say none.
func (b *Binding) kernelLaunch() *Launch {
	for i, t := range b.Function.body {
		if t.text != "<<<" {
			continue
		}
		kernel, _ := b.file.called(&b.Function, i)
		if kernel == nil {
			continue
		}
		options := Options{Attrs: b.Options.Attrs, Dims: b.Options.Dims, Several: true, alone: true}
		alone, err := Match(b.file, *kernel, b.Spec, b.Pass, options)
		if err != nil || alone.Launch == nil || alone.Launch.guessed {
			continue
		}
		return alone.Launch
	}
	return nil
}

// isDim3 says whether a parameter is a dim3.
func (p Param) isDim3() bool { return !p.Pointer && p.Base == "dim3" }

// sidesCode is the C++ of the sides of a grid or a block that a parameter takes.
func (b *Binding) sidesCode(a Argument) string {
	if a.isDim3() {
		return "dim3(" + b.dim3Code(a.sides) + ")"
	}
	return fmt.Sprintf("static_cast<%s>(%s)", a.Base, b.expressionCode(product(a.sides), false))
}
