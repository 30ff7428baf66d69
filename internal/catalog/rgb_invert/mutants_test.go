package rgb_invert

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/integer/integertest"
	"triad/internal/truth/truthtest"
)

// of returns a bug of the three colours: alpha stays.
func of(wrong func(v int64) int64) func(op.Case, []int64, []int64) int64 {
	return func(_ op.Case, at, in []int64) int64 {
		if at[1] == alpha {
			return in[0]
		}
		return wrong(in[0])
	}
}

var suites = integertest.Suites("rgb_invert",
	integertest.Wrong{Name: "alpha inverted too", Of: func(_ op.Case, _, in []int64) int64 {
		return 255 - in[0]
	}},
	integertest.Wrong{Name: "alpha set to 255", Of: func(c op.Case, at, in []int64) int64 {
		if at[1] == alpha {
			return 255
		}
		return 255 - in[0]
	}},
	integertest.Wrong{Name: "alpha first", Of: func(_ op.Case, at, in []int64) int64 {
		if at[1] == 0 {
			return in[0]
		}
		return 255 - in[0]
	}},
	integertest.Wrong{Name: "blue kept", Of: func(_ op.Case, at, in []int64) int64 {
		if at[1] >= 2 {
			return in[0]
		}
		return 255 - in[0]
	}},
	integertest.Wrong{Name: "256 - v", Of: of(func(v int64) int64 { return 256 - v })},
	integertest.Wrong{Name: "-v", Of: of(func(v int64) int64 { return -v })},
	integertest.Wrong{Name: "bytes taken as signed", Of: of(func(v int64) int64 { return max(127-v, 0) })},
	integertest.Wrong{Name: "127 - v", Of: of(func(v int64) int64 { return 127 - v })},
)

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
