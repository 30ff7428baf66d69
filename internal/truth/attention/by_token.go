package attention

import (
	"slices"

	"triad/internal/judge"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// ByHeads returns a tensor [batch, tokens, heads, ...] as [batch, heads, tokens, ...], as attention takes it.
// Nothing is copied.
func ByHeads(t tensor.Tensor) tensor.Tensor {
	t.Shape, t.Stride = swapped(t.Shape), swapped(t.Stride)
	return t
}

// swapped exchanges the second and the third of some dims.
func swapped(x []int64) []int64 {
	y := slices.Clone(x)
	if len(y) > 2 {
		y[1], y[2] = y[2], y[1]
	}
	return y
}

// ByToken orders the rows of an output [batch, heads, tokens, n], or [batch, heads, tokens] with rows of one
// element, as [batch, tokens, heads, n].
func ByToken(t judge.Target) judge.Target {
	heads, tokens, n := t.Shape[1], t.Shape[2], int64(1)
	if len(t.Shape) > 3 {
		n = t.Shape[3]
	}
	type row struct{ from, to int64 } // the from-th judged row is row to of the output
	rows := make([]row, int64(len(t.R))/n)
	for x := range rows {
		r := truth.PlaceOf(t.Index, int64(x)*n) / n
		rows[x] = row{int64(x), (r/tokens/heads*tokens+r%tokens)*heads + r/tokens%heads}
	}
	slices.SortFunc(rows, func(a, b row) int { return int(a.to - b.to) })
	moved := t
	moved.Shape = swapped(t.Shape)
	for _, field := range []*[]float64{&moved.R, &moved.T, &moved.TFP32, &moved.Sim} {
		was := *field
		*field = make([]float64, 0, len(was))
		for _, r := range rows {
			*field = append(*field, was[r.from*n:(r.from+1)*n]...)
		}
	}
	if t.Index != nil {
		moved.Index = make([]int64, 0, len(t.Index))
		for _, r := range rows {
			for c := range n {
				moved.Index = append(moved.Index, r.to*n+c)
			}
		}
	}
	return moved
}
