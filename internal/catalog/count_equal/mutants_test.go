package count_equal

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/integer/integertest"
	"triad/internal/truth/truthtest"
)

var suites = integertest.CountSuites("count_equal",
	integertest.Miscounted{Name: "at least the value", Counts: func(c op.Case, x int64) bool {
		return x >= value(c)
	}},
	integertest.Miscounted{Name: "at most the value", Counts: func(c op.Case, x int64) bool {
		return x <= value(c)
	}},
	integertest.Miscounted{Name: "the next value", Counts: func(c op.Case, x int64) bool {
		return x == value(c)+1
	}},
	integertest.Miscounted{Name: "the low bits alone", Counts: func(c op.Case, x int64) bool {
		return x&7 == value(c)&7
	}},
	integertest.Miscounted{Name: "magnitudes", Counts: func(c op.Case, x int64) bool {
		return max(x, -x) == max(value(c), -value(c))
	}},
	integertest.Miscounted{Name: "what is not 0", Counts: func(_ op.Case, x int64) bool { return x != 0 }},
)

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
