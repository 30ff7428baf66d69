package nsa_selected

import (
	"triad/internal/truth"
	"triad/internal/truth/sparse"
)

var _ = truth.RegisterLosses("nsa_selected", sparse.SelectedLosses)
