package kernelfile

import (
	"slices"

	"triad/internal/ownfile/cfacts"
)

// blockNames lists common names for the number of threads in a block.
var blockNames = []string{
	"block_size", "blocksize", "threads", "num_threads", "nthreads", "n_threads",
	"block_dim", "tpb", "threads_per_block",
}

// countsThreads reports whether a parameter is, by its name, the number of threads in a block.
func countsThreads(p cfacts.Param) bool {
	return p.IsInteger() && slices.Contains(blockNames, snake(p.Name))
}

// gridNames lists common names for the number of blocks in a grid.
var gridNames = []string{
	"grid", "grid_dim", "grid_size", "gridsize", "blocks", "num_blocks", "nblocks", "n_blocks",
	"blocks_per_grid", "user_grid_size",
}

// countsBlocks reports whether a parameter is, by its name, the number of blocks in a grid.
func countsBlocks(p cfacts.Param) bool { return slices.Contains(gridNames, snake(p.Name)) }

// sizesBothSides reports whether the lines use a number twice, as the sides of a block: "dim3 block(n, n)",
// "n * n".
func (b *Binding) sizesBothSides(p cfacts.Param) bool {
	return b.speaksOf(func(t []cfacts.Token) bool {
		return t[0].Text == p.Name && t[2].Text == p.Name && (t[1].Text == "," || t[1].Text == "*")
	})
}
