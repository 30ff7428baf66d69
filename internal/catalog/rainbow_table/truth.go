// Package rainbow_table is the truth of FNV-1a of 32 bits, applied for some rounds.
package rainbow_table

import (
	"triad/internal/op"
	"triad/internal/truth/integer"
)

// offset and prime are the constants of 32-bit FNV.
const offset, prime = uint32(2166136261), uint32(16777619)

var _ = integer.Register("rainbow_table", integer.Operator{
	Output: "h", Forms: []integer.Formula{rounds(byBytes), rounds(byShifts)}, ByRows: []string{"n"},
})

// rounds applies a hash as often as the case requires.
func rounds(hash func(x uint32) uint32) integer.Formula {
	return func(c op.Case, _, in []int64) int64 {
		h := uint32(in[0])
		for range int64(c.Attrs.Number("rounds")) {
			h = hash(h)
		}
		return int64(h)
	}
}

// byBytes hashes the four bytes, the lowest first: an exclusive or, then a product.
func byBytes(x uint32) uint32 {
	h := offset
	for range 4 {
		h = (h ^ x&0xff) * prime
		x >>= 8
	}
	return h
}

// byShifts replaces the product by 2^24 + 0x193 by a shift and a product by 0x193.
func byShifts(x uint32) uint32 {
	h := offset
	for shift := 0; shift < 32; shift += 8 {
		h ^= x >> shift & 0xff
		h = h<<24 + h*0x193
	}
	return h
}
