// Package mla is the truth of multi-head latent attention in training.
package mla

import (
	"triad/internal/truth"
	"triad/internal/truth/latent"
)

var _ = truth.Register("mla", truth.Definition{
	Forward: latent.OfWhole, Backward: latent.GradientsOfWhole, Permits: []string{"fp32", "p16"},
})
