// Package transpose is the truth of y[c, r] = x[r, c].
package transpose

import (
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/movement"
)

var _ = movement.Register("transpose", movement.Operator{
	Input: "x", Output: "y", From: exchanged, Back: exchanged, ByRows: []string{"cols"}, Again: turned,
})

// exchanged swaps row and column.
func exchanged(_ op.Case, to, from []int64) { from[0], from[1] = to[1], to[0] }

// turned returns the case of the output.
func turned(c op.Case) op.Case {
	return truth.WithDims(c, map[string]int64{"rows": c.Dims.Get("cols"), "cols": c.Dims.Get("rows")})
}
