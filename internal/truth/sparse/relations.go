package sparse

import (
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// later returns the first token of the second half, whose keys LaterChanged changes.
func later(c op.Case) int64 { return c.Dims.Get("seq") / 2 }

// LaterChanged makes keys and values of the second half large, of either sign: a weight that should be
// exactly 0 then shows.
func LaterChanged(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	changed := func(name string) tensor.Tensor {
		t := first.Get(name)
		return truth.Changed(t, func(i int64, v float64) float64 {
			switch {
			case i/(t.Shape[2]*t.Shape[3])%t.Shape[1] < later(c):
				return v
			case i%3 == 0:
				return -30
			}
			return 30
		})
	}
	return c, []tensor.Tensor{changed("k"), changed("v")}
}

// EarlierUnmoved: what belongs to queries of the first half keeps every bit.
func EarlierUnmoved(a *truth.Related, output string) judge.Statement {
	shape := a.First.Target(output).Shape
	if a.Failed() {
		return judge.Statement{}
	}
	each := a.First.Target(output).Elements() / max(shape[0]*shape[1], 1)
	at := []int64{} // not nil: none is none
	for i := range a.First.Target(output).Elements() {
		if i/each%shape[1] < later(a.First.Case) {
			at = append(at, i)
		}
	}
	return a.Equal(output, 1, at)
}

// ReversedBlocks reverses the order in which a query's blocks are given.
func ReversedBlocks(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	t := first.Get("indices")
	n := t.Shape[3]
	return c, []tensor.Tensor{truth.Moved(t, t.Shape, func(i int64) int64 { return i + n - 1 - 2*(i%n) })}
}

// ClosedGate makes the gate of the selected blocks 0.
func ClosedGate(in truth.Inputs) []tensor.Tensor {
	return []tensor.Tensor{truth.Changed(in.Get("g_slc"), func(int64, float64) float64 { return 0 })}
}

// NoBlocks takes every block from every query.
func NoBlocks(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	return c, []tensor.Tensor{truth.Changed(first.Get("indices"), func(int64, float64) float64 { return -1 })}
}
