// Package segmentsum is the truth of the sums of segments.
package segmentsum

import (
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
	"triad/internal/truth/reduction"
)

var _ = reduction.Register("segment_sum", reduction.Operator{
	Output: "y", Offsets: "offsets",
	Term:    elementwise.Formula{Forms: []*formula.Node{formula.In("x")}},
	Permits: []string{"fp32"},
	Linear:  []string{"x"},
})
