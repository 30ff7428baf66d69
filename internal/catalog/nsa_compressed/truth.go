// Package nsa_compressed is the truth of native sparse attention over compressed keys and values.
package nsa_compressed

import (
	"triad/internal/truth"
	"triad/internal/truth/sparse"
)

var _ = truth.Register("nsa_compressed", truth.Definition{
	Forward: sparse.Compressed, Backward: sparse.CompressedGradients, Permits: []string{"fp32", "p16"},
})
