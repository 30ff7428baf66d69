package mla

import (
	"triad/internal/truth"
	"triad/internal/truth/latent"
)

var _ = truth.RegisterLosses("mla", latent.LossesOfWhole)
