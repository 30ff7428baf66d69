package fp8

import (
	"fmt"
	"math"

	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
)

// Side is the number of neighbours in a row that share a scale of a block, and the side of a tile.
const Side = 128

// Groups are the parts of a matrix that share a scale, row-major.
type Groups struct {
	Amax          []float64 // the largest magnitude in each: NaN where there is one, 0 in a group of nothing
	Shape         []int64   // of their scales
	height, width int64     // of one
	across        int64     // in a row of groups
}

// Of returns the group of the element at a row and a column.
func (g Groups) Of(at []int64) int64 { return at[0]/g.height*g.across + at[1]/g.width }

// GroupsOf returns the groups of a matrix: per is tensor, row, block (1 x Side) or tile (Side x Side).
func GroupsOf(x tensor.Tensor, per string) Groups {
	rows, cols := x.Shape[0], x.Shape[1]
	g := Groups{height: 1, width: max(cols, 1), across: 1, Shape: []int64{rows}}
	blocks := (cols + Side - 1) / Side
	switch per {
	case "tensor":
		g.height, g.Shape = max(rows, 1), []int64{1}
	case "row":
	case "block":
		g.width, g.across, g.Shape = Side, blocks, []int64{rows, blocks}
	case "tile":
		g.height, g.width, g.across = Side, Side, blocks
		g.Shape = []int64{(rows + Side - 1) / Side, blocks}
	default:
		panic(fmt.Sprintf("fp8: a scale per %q: want tensor, row, block or tile", per))
	}
	g.Amax = make([]float64, g.Shape[0]*g.across)
	parallel.Runs(int(g.Shape[0]), func(first, end int) {
		row := make([]float64, cols)
		for r := int64(first) * g.height; r < min(int64(end)*g.height, rows); r++ {
			x.DecodeRow(row, r, 0)
			for col, v := range row {
				of := &g.Amax[g.Of([]int64{r, int64(col)})]
				*of = max(*of, math.Abs(v))
			}
		}
	})
	return g
}

// Quantized returns the codes of a matrix, with its strides packed, and the multipliers of its groups.
func (r Recipe) Quantized(x tensor.Tensor, per string) (codes, scales tensor.Tensor) {
	groups := GroupsOf(x, per)
	factors, multipliers := make([]float64, len(groups.Amax)), make([]float64, len(groups.Amax))
	for i, amax := range groups.Amax {
		var stored float64
		stored, factors[i] = r.Scale(amax)
		multipliers[i] = r.Multiplier(stored)
	}
	rows, cols := x.Shape[0], x.Shape[1]
	codes = tensor.New(x.Name, r.Format, []int64{rows, cols})
	parallel.Each(rows, func(at int64) {
		row := make([]float64, cols)
		x.DecodeRow(row, at, 0)
		for c, v := range row {
			row[c] = r.Code(v, factors[groups.Of([]int64{at, int64(c)})])
		}
		tensor.EncodeInto(codes.Data[at*cols:(at+1)*cols], r.Format, row)
	})
	scales = tensor.New("scales of "+x.Name, op.FP32, groups.Shape)
	scales.SetFloat64s(multipliers)
	return codes, scales
}
