package transpose

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/movement/movementtest"
	"triad/internal/truth/truthtest"
)

// edge is the edge of a tile.
const edge = 32

// suites adds two bugs to those of everything that moves elements: tiles that are exchanged and not turned,
// and turned and not exchanged.
var suites = movementtest.Suites("transpose",
	movementtest.Wrong{Name: notTurned, Pass: op.Forward, From: tiles("rows", "cols", exchangedTiles)},
	movementtest.Wrong{Name: notExchanged, Pass: op.Forward, From: tiles("rows", "cols", turnedTiles)},
	movementtest.Wrong{Name: notTurned, Pass: op.Backward, From: tiles("cols", "rows", exchangedTiles)},
	movementtest.Wrong{Name: notExchanged, Pass: op.Backward, From: tiles("cols", "rows", turnedTiles)},
)

const (
	notTurned    = "tiles exchanged, not turned"
	notExchanged = "tiles turned, not exchanged"
)

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// tiles returns a map of a tensor whose sizes are two dims of a case, held inside it.
func tiles(rows, cols string, wrong func(to, from []int64)) func(c op.Case, to, from []int64) {
	return func(c op.Case, to, from []int64) {
		wrong(to, from)
		from[0], from[1] = min(from[0], c.Dims.Get(rows)-1), min(from[1], c.Dims.Get(cols)-1)
	}
}

func exchangedTiles(to, from []int64) {
	from[0], from[1] = to[1]/edge*edge+to[0]%edge, to[0]/edge*edge+to[1]%edge
}

func turnedTiles(to, from []int64) {
	from[0], from[1] = to[0]/edge*edge+to[1]%edge, to[1]/edge*edge+to[0]%edge
}
