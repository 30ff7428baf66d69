// Package mla_decode is the truth of multi-head latent attention while decoding.
package mla_decode

import (
	"triad/internal/truth"
	"triad/internal/truth/latent"
)

var _ = truth.Register("mla_decode", truth.Definition{
	Forward: latent.Forward, Permits: []string{"fp32", "p16"},
})
