package repeat_kv

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/movement/movementtest"
	"triad/internal/truth/truthtest"
)

// suites adds three bugs to those of everything that moves elements: the heads one after the other, again and
// again, as torch's repeat has them; the copies of the last head for all; and the first batch for all.
var suites = movementtest.Suites("repeat_kv",
	movementtest.Wrong{
		Name: "the heads in turn, not side by side", Pass: op.Forward,
		From: func(c op.Case, to, from []int64) {
			copy(from, to)
			from[1] = to[1] % c.Dims.Get("heads_kv")
		},
	},
	movementtest.Wrong{Name: "one head too far", Pass: op.Forward, From: func(c op.Case, to, from []int64) {
		shared(c, to, from)
		from[1] = min(from[1]+1, c.Dims.Get("heads_kv")-1)
	}},
	movementtest.Wrong{
		Name: "the first batch for all", Pass: op.Forward,
		From: func(c op.Case, to, from []int64) {
			shared(c, to, from)
			from[0] = 0
		},
	},
)

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
