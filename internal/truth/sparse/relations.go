package sparse

import (
	"math"

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
	return c, changedFrom(first, later(c), large, "k", "v")
}

// LaterBlocksChanged does so with keys and values of the blocks that end in the second half.
func LaterBlocksChanged(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	return c, changedFrom(first, later(c)/int64(c.Attrs.Number("block_size")), large, "k", "v")
}

// LaterKeysChanged does so where blocks have keys alone.
func LaterKeysChanged(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	return c, changedFrom(first, later(c)/int64(c.Attrs.Number("block_size")), large, "k")
}

// NoPartOfABlock makes the key and the value of the last block NaN where it is not whole.
func NoPartOfABlock(c op.Case, first truth.Inputs) (op.Case, []tensor.Tensor) {
	whole := c.Dims.Get("seq") / int64(c.Attrs.Number("block_size"))
	return c, changedFrom(first, whole, func(int64) float64 { return math.NaN() }, "k", "v")
}

func large(i int64) float64 {
	if i%3 == 0 {
		return -30
	}
	return 30
}

// changedFrom gives the keys or values behind the first so many of a sequence other numbers.
func changedFrom(in truth.Inputs, first int64, number func(i int64) float64, names ...string,
) (out []tensor.Tensor) {
	for _, name := range names {
		t := in.Get(name)
		out = append(out, truth.Changed(t, func(i int64, v float64) float64 {
			if i/(t.Shape[2]*t.Shape[3])%t.Shape[1] < first {
				return v
			}
			return number(i)
		}))
	}
	return out
}

// CountsBlocks: with queries of 0 lse is the logarithm of the number of blocks that a query sees.
func CountsBlocks(a *truth.Related, output string) judge.Statement {
	y, target, c := a.Second.Out(output), a.Second.Target(output), a.Second.Case
	if a.Failed() {
		return judge.Statement{}
	}
	size, heads, tokens := int64(c.Attrs.Number("block_size")), c.Dims.Get("heads"), c.Dims.Get("seq")
	seen := func(i int64) int64 { return (i/heads%tokens + 1) / size }
	at := []int64{}
	for i := range target.Elements() {
		if seen(i) > 0 {
			at = append(at, i)
		}
	}
	return judge.Statement{Shape: target.Shape, N: int64(len(at)), At: func(n int64) judge.Claim {
		low, high := target.Interval(math.Log(float64(seen(at[n]))), target.T[at[n]])
		return judge.Claim{Position: at[n], Got: y[at[n]], Low: low, High: high}
	}}
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
