// Package flashattention is the truth of flash_attention: attention, softmax(scale * q k^T) v.
package flashattention

import (
	"triad/internal/truth"
	"triad/internal/truth/attention"
)

var _ = truth.Register("flash_attention", truth.Definition{
	Forward: attention.Forward, Backward: attention.Backward,
	Permits: []string{"fp32", "p16", "tf32", "eager"},
})
