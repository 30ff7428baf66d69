// Package prefixsum is the truth of y[i] = x[0] + ... + x[i], or x[0] + ... + x[i-1]. Sums of integers wrap.
package prefixsum

import (
	"triad/internal/truth/elementwise"
	"triad/internal/truth/formula"
	"triad/internal/truth/scan"
)

var _ = scan.Register("prefix_sum", scan.Operator{
	Output:    "y",
	Term:      elementwise.Formula{Forms: []*formula.Node{formula.In("x")}},
	Exclusive: "exclusive",
	Permits:   []string{"fp32", scan.Exact},
	Linear:    []string{"x"},
	Whole:     func(in []int64) int64 { return in[0] },
})
