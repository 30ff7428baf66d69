package copy

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/movement/movementtest"
	"triad/internal/truth/truthtest"
)

// suites adds two bugs to those of everything that moves elements: a row that begins where a pack of 16 bytes
// does, and rows of a grid with a side of 65,535 blocks, here of 32, of which the others are the first again.
var suites = movementtest.Suites("copy",
	movementtest.Wrong{Name: wholePacks, Pass: op.Forward, From: packed},
	movementtest.Wrong{Name: shortGrid, Pass: op.Forward, From: wrapped},
	movementtest.Wrong{Name: wholePacks, Pass: op.Backward, From: packed},
	movementtest.Wrong{Name: shortGrid, Pass: op.Backward, From: wrapped},
)

const (
	wholePacks = "the last columns are those of a whole pack"
	shortGrid  = "rows beyond the grid are the first again"
)

func packed(c op.Case, to, from []int64) {
	from[0], from[1] = to[0], min(to[1], (c.Dims.Get("cols")-1)/4*4)
}

func wrapped(_ op.Case, to, from []int64) { from[0], from[1] = to[0]%32, to[1] }

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
