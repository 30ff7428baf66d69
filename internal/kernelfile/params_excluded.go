package kernelfile

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/indexing"
	"triad/internal/ownfile/match"
)

// presetAxis matches a parameter whose default is a negative number, as an axis counted from the last.
var presetAxis = regexp.MustCompile(`=\s*-\s*\d+\s*$`)

// presetMask matches a Python parameter for a mask, which is a tensor: its default is None.
var presetMask = regexp.MustCompile(`(?i)^\w*mask\w*\s*(?::[^=]*)?=\s*None$`)

// onlyRead reports whether a kernel reads what a pointer points to and writes at least as many others as
// there are outputs: then the pointer is no output, whatever its name. A pointer that is passed on, or whose
// address is taken, may be written there.
func (b *Binding) onlyRead(p cfacts.Param) bool {
	written := 0
	for _, other := range b.Function.Params {
		if other.Pointer && other.Writing.Any() {
			written++
		}
	}
	return b.Function.Kind == cfacts.Kernel && indexing.OnlyRead(b.Function.Body, p.Name) &&
		written >= len(b.outputs)
}

// blockNames lists common names for the number of threads in a block.
var blockNames = []string{
	"block_size", "blocksize", "threads", "num_threads", "nthreads", "n_threads",
	"block_dim", "tpb", "threads_per_block",
}

// countsThreads reports whether a parameter is, by its name, the number of threads in a block.
func countsThreads(p cfacts.Param) bool {
	return p.IsInteger() && slices.Contains(blockNames, match.Snake(p.Name))
}

// gridNames lists common names for the number of blocks in a grid.
var gridNames = []string{
	"grid", "grid_dim", "grid_size", "gridsize", "blocks", "num_blocks", "nblocks", "n_blocks",
	"blocks_per_grid", "user_grid_size",
}

// countsBlocks reports whether a parameter is, by its name, the number of blocks in a grid.
func countsBlocks(p cfacts.Param) bool { return slices.Contains(gridNames, match.Snake(p.Name)) }

// sizesBothSides reports whether the lines use a number twice, as the sides of a block: "dim3 block(n, n)",
// "n * n".
func (b *Binding) sizesBothSides(p cfacts.Param) bool {
	return b.speaksOf(func(t []cfacts.Token) bool {
		return t[0].Text == p.Name && t[2].Text == p.Name && (t[1].Text == "," || t[1].Text == "*")
	})
}

// scoreOutput returns how well a name that says that it is an output fits an output: output_lse.
func (b *Binding) scoreOutput(p cfacts.Param, target string) int {
	for _, prefix := range []string{"output_", "out_", "o_"} {
		if rest, ok := strings.CutPrefix(match.Snake(p.Name), prefix); ok {
			return match.Score(b.Spec, b.Pass, rest, target)
		}
	}
	return 0
}
