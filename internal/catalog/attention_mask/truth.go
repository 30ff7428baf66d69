// Package attention_mask is the truth of the mask of padded sequences: 0 where a query sees a key, else -inf.
package attention_mask

import (
	"math"

	"triad/internal/op"
	"triad/internal/truth/integer"
)

var _ = integer.Register("attention_mask", integer.Operator{
	Output: "mask", Forms: []integer.Formula{seen(byDifference), seen(fromTheEnd)}, ByRows: []string{"batch"},
	Stored: func(seen int64) float64 {
		if seen != 0 {
			return 0
		}
		return math.Inf(-1)
	},
})

// order reports whether key j is not behind query i, of the given numbers of each.
type order func(i, j, queries, keys int64) bool

// seen returns the formula that is 1 where a query sees a key. Queries and keys beyond the lengths are
// padding.
func seen(causal order) integer.Formula {
	return func(c op.Case, at, lengths []int64) int64 {
		i, j, queries, keys := at[1], at[2], lengths[0], lengths[1]
		if i < queries && j < keys && (!isCausal(c) || causal(i, j, queries, keys)) {
			return 1
		}
		return 0
	}
}

func isCausal(c op.Case) bool { return c.Attrs.Number("causal") != 0 }

// byDifference counts from the first query: it sees all but queries-1 keys.
func byDifference(i, j, queries, keys int64) bool { return j <= i+keys-queries }

// fromTheEnd counts from the last query, which sees the last key.
func fromTheEnd(i, j, queries, keys int64) bool { return queries-i <= keys-j }
