// Package count_equal is the truth of the number of elements that have a value.
package count_equal

import (
	"math"

	"triad/internal/op"
	"triad/internal/truth/integer"
)

var _ = integer.RegisterCount("count_equal", integer.Counter{
	Output: "count",
	Counts: func(c op.Case, x int64) bool { return x == value(c) },
	Member: value,
	Another: func(c op.Case) int64 {
		if v := value(c); v < math.MaxInt32 {
			return v + 1
		}
		return 0
	},
})

func value(c op.Case) int64 { return int64(c.Attrs.Number("value")) }
