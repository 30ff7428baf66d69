// Package nsa_selected is the truth of native sparse attention over blocks that are given and a window.
package nsa_selected

import (
	"triad/internal/truth"
	"triad/internal/truth/sparse"
)

var _ = truth.Register("nsa_selected", truth.Definition{
	Forward: sparse.Selected, Backward: sparse.SelectedGradients, Permits: []string{"fp32", "p16"},
})
