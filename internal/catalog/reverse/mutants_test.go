package reverse

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth/movement/movementtest"
	"triad/internal/truth/truthtest"
)

// tile is the number of elements that a block turns, pack the number in 16 bytes in fp32.
const tile, pack = 256, 4

// suites holds the bugs of a reversal in tiles and in place: tiles that change places and are not turned,
// packs likewise, tiles that are turned in place, and a reversal in place that stops one element before the
// middle. One that continues past the middle undoes itself: that is a copy, which the family plants.
var suites = movementtest.Suites("reverse", append(wrong(op.Forward), wrong(op.Backward)...)...)

func wrong(pass op.Pass) []movementtest.Wrong {
	var list []movementtest.Wrong
	for _, w := range []struct {
		name string
		from func(i, n int64) int64
	}{
		{"tiles exchanged, not turned", func(i, n int64) int64 { return exchanged(i, n, tile) }},
		{"packs exchanged, not turned", func(i, n int64) int64 { return exchanged(i, n, pack) }},
		{"tiles turned, not exchanged", func(i, _ int64) int64 { return i/tile*tile + tile - 1 - i%tile }},
		{"the middle is left out", func(i, n int64) int64 {
			if i == n/2-1 || i == n-n/2 {
				return i
			}
			return n - 1 - i
		}},
		{"from n, not from n - 1", func(i, n int64) int64 { return n - i }},
	} {
		from := func(c op.Case, to, from []int64) {
			n := c.Dims.Get("n")
			from[0] = min(max(w.from(to[0], n), 0), n-1)
		}
		list = append(list, movementtest.Wrong{Name: w.name, Pass: pass, From: from})
	}
	return list
}

// exchanged returns the source of place i where runs of run elements are exchanged, each unchanged in itself.
func exchanged(i, n, run int64) int64 { return (n-1)/run*run - i/run*run + i%run }

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }
