package rainbow_table

import (
	"math/bits"
	"testing"

	"triad/internal/op"
	"triad/internal/truth/integer"
	"triad/internal/truth/integer/integertest"
	"triad/internal/truth/truthtest"
)

// hashed returns FNV-1a of count bytes, with its own step for each.
func hashed(from uint32, count int, step func(h, b uint32) uint32) integer.Formula {
	return rounds(func(x uint32) uint32 {
		h := from
		for range count {
			h = step(h, x&0xff)
			x >>= 8
		}
		return h
	})
}

func right(h, b uint32) uint32 { return (h ^ b) * prime }

// otherwise uses another number of rounds.
func otherwise(of func(rounds int64) int64) integer.Formula {
	return func(c op.Case, _, in []int64) int64 {
		h := uint32(in[0])
		for range max(of(int64(c.Attrs.Number("rounds"))), 0) {
			h = byBytes(h)
		}
		return int64(h)
	}
}

var suites = integertest.Suites("rainbow_table",
	integertest.Wrong{Name: "FNV-1: the product first", Of: hashed(offset, 4,
		func(h, b uint32) uint32 { return h*prime ^ b })},
	integertest.Wrong{
		Name: "the bytes the other way round",
		Of:   rounds(func(x uint32) uint32 { return byBytes(bits.ReverseBytes32(x)) }),
	},
	integertest.Wrong{
		Name: "the whole word as one byte",
		Of:   rounds(func(x uint32) uint32 { return (offset ^ x) * prime }),
	},
	integertest.Wrong{Name: "signed bytes", Of: hashed(offset, 4,
		func(h, b uint32) uint32 { return right(h, uint32(int8(b))) })},
	integertest.Wrong{Name: "three bytes", Of: hashed(offset, 3, right)},
	integertest.Wrong{Name: "five bytes", Of: hashed(offset, 5, right)},
	integertest.Wrong{Name: "from 0", Of: hashed(0, 4, right)},
	integertest.Wrong{Name: "an offset mistyped", Of: hashed(2166136621, 4, right)},
	integertest.Wrong{Name: "a prime mistyped", Of: hashed(offset, 4,
		func(h, b uint32) uint32 { return (h ^ b) * 16777169 })},
	integertest.Wrong{Name: "the product in fp32", Of: hashed(offset, 4,
		func(h, b uint32) uint32 { return uint32(uint64(float32(h^b) * float32(prime))) })},
	integertest.Wrong{Name: "a round too few", Of: otherwise(func(r int64) int64 { return r - 1 })},
	integertest.Wrong{Name: "a round too many", Of: otherwise(func(r int64) int64 { return r + 1 })},
	integertest.Wrong{Name: "one round", Of: otherwise(func(int64) int64 { return 1 })},
	integertest.Wrong{Name: "every round from x", Of: func(c op.Case, _, in []int64) int64 {
		return int64(byBytes(uint32(in[0])))
	}},
)

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
