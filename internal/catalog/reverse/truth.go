// Package reverse is the truth of y[i] = x[n-1-i].
package reverse

import (
	"triad/internal/op"
	"triad/internal/truth/movement"
)

var _ = movement.Register("reverse", movement.Operator{
	Input: "x", Output: "y", From: turned, Back: turned, ByRows: []string{"n"},
	Again: func(c op.Case) op.Case { return c },
})

// turned swaps the first element and the last.
func turned(c op.Case, to, from []int64) { from[0] = c.Dims.Get("n") - 1 - to[0] }
