// Package repeat_kv is the truth of y[b, h*groups + g] = k[b, h].
package repeat_kv

import (
	"triad/internal/op"
	"triad/internal/truth/movement"
)

var _ = movement.Register("repeat_kv", movement.Operator{
	Input: "k", Output: "y", From: shared, Copies: groups, CopyAt: head, ByRows: []string{"batch"},
})

func groups(c op.Case) int64 { return int64(c.Attrs.Number("groups")) }

// shared returns the head that a repeated one comes from.
func shared(c op.Case, to, from []int64) {
	copy(from, to)
	from[1] = to[1] / groups(c)
}

// head returns a copy of a head: the copies of one are adjacent.
func head(c op.Case, number int64, to, from []int64) {
	copy(to, from)
	to[1] = from[1]*groups(c) + number
}
