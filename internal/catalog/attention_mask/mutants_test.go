package attention_mask

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/integer/integertest"
	"triad/internal/truth/truthtest"
)

// The masks that show a bug: all kinds, the causal ones, or the others.
const (
	everywhere = ""
	ifCausal   = "true"
	ifNot      = "false"
)

// wrong returns a bug: sees reports whether query i sees key j, of the given numbers of each.
func wrong(name, where string, sees func(causal bool, i, j, queries, keys int64) bool) integertest.Wrong {
	return integertest.Wrong{Name: name, Of: func(c op.Case, at, lengths []int64) int64 {
		if sees(isCausal(c), at[1], at[2], lengths[0], lengths[1]) {
			return 1
		}
		return 0
	}, Equivalent: func(g truthtest.Group) string {
		if where == everywhere || g.Value == where {
			return ""
		}
		return "it shows where causal is " + where
	}}
}

var suites = integertest.Suites("attention_mask",
	wrong("padded queries see keys", everywhere, func(causal bool, i, j, queries, keys int64) bool {
		return j < keys && (!causal || j <= i+keys-queries)
	}),
	wrong("padded keys are seen", ifNot, func(causal bool, i, j, queries, keys int64) bool {
		return i < queries && (!causal || j <= i+keys-queries)
	}),
	wrong("causal from the first key", ifCausal, func(causal bool, i, j, queries, keys int64) bool {
		return i < queries && j < keys && (!causal || j <= i)
	}),
	wrong("causal without the last key", ifCausal, func(causal bool, i, j, queries, keys int64) bool {
		return i < queries && j < keys && (!causal || j < i+keys-queries)
	}),
	wrong("causal ignored", ifCausal, func(_ bool, i, j, queries, keys int64) bool {
		return i < queries && j < keys
	}),
	wrong("always causal", ifNot, func(_ bool, i, j, queries, keys int64) bool {
		return i < queries && j < keys && j <= i+keys-queries
	}),
	wrong("lengths exchanged", everywhere, func(causal bool, i, j, queries, keys int64) bool {
		return i < keys && j < queries && (!causal || j <= i+queries-keys)
	}),
	wrong("one key too many", ifNot, func(causal bool, i, j, queries, keys int64) bool {
		return i < queries && j <= keys && (!causal || j <= i+keys-queries)
	}),
	wrong("seen and unseen exchanged", everywhere, func(causal bool, i, j, queries, keys int64) bool {
		return i >= queries || j >= keys || causal && j > i+keys-queries
	}),
)

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
