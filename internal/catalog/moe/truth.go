// Package moe is the truth of a mixture of experts.
package moe

import "triad/internal/truth/experts"

var _ = experts.Register("moe", experts.Operator{Permits: []string{"fp32", "stored"}})
