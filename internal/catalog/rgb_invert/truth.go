// Package rgb_invert is the truth of out[p, c] = 255 - image[p, c] for red, green and blue; alpha is kept.
package rgb_invert

import (
	"triad/internal/op"
	"triad/internal/truth/integer"
)

// alpha is the last of the four channels.
const alpha = 3

var _ = integer.Register("rgb_invert", integer.Operator{
	Output: "out", Forms: []integer.Formula{difference, complement}, ByRows: []string{"pixels"}, Again: true,
})

// difference is the formula in its usual form.
func difference(_ op.Case, at, in []int64) int64 {
	if at[1] == alpha {
		return in[0]
	}
	return 255 - in[0]
}

// complement avoids the subtraction: 255 - v is the complement of eight bits.
func complement(_ op.Case, at, in []int64) int64 {
	if at[1] == alpha {
		return in[0]
	}
	return in[0] ^ 0xff
}
