// Package nsa_top_blocks is the truth of the choice of blocks in native sparse attention.
package nsa_top_blocks

import (
	"triad/internal/truth"
	"triad/internal/truth/sparse"
)

var _ = truth.Register("nsa_top_blocks", truth.Definition{
	Forward: sparse.TopBlocks, Permits: []string{"fp32"},
})
