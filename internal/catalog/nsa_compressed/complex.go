package nsa_compressed

import (
	"triad/internal/truth"
	"triad/internal/truth/sparse"
)

var _ = truth.RegisterLosses("nsa_compressed", sparse.CompressedLosses)
