// Package layernorm is the truth of layernorm: layer normalisation along rows.
package layernorm

import "triad/internal/truth/rownorm"

var _ = rownorm.Register("layernorm", rownorm.Operator{Centred: true, Bias: true, Permits: []string{"fp32"}})
