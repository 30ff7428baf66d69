package groupedfp8gemm

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/product/producttest"
	"triad/internal/truth/truthtest"
)

// variants: fp32 sums promoted every 128 and every 64 of K, the truncating adder of a tensor core, and
// dequantised operands summed in 32 lanes.
var variants = []truthtest.Arithmetic{
	{Block: scaleBlock}, {Block: 64}, {Block: scaleBlock, Other: true}, {Order: truthtest.InLanes},
}

func onlyFP16(g truthtest.Group) string {
	if g.Attribute == "out" && g.Value != "fp16" {
		return "products of the suite lie below 2^126: none overflows " + g.Value
	}
	return ""
}

var suites = []truthtest.Suite{{
	Op: "grouped_fp8_gemm", Pass: op.Forward, Right: variants, Kernel: emulated, Mutants: []truthtest.Mutant{
		{Number: 1, Name: "x scale of the next block"},
		{Number: 2, Name: "w scale of the next k block"},
		{Number: 3, Name: "w scale of the next n block"},
		{Number: 4, Name: "w scale of the first group for all"},
		{Number: 5, Name: "x scales counted from the group's first row"},
		{Number: 6, Name: "x scale of row 0"},
		{Number: 7, Name: "inverted scale"},
		{Number: 8, Name: "last k block missing"},
		{Number: 9, Name: "bf16 accumulator"},
		{Number: 10, Name: "scale rounded to a power of two"},
		{Number: 11, Name: "scale in bf16"},
		{Number: 12, Name: "e4m3 read as e5m2"},
		{Number: 13, Name: "scale too small by 448/240"},
		{Number: 14, Name: "scale of x missing"},
		{Number: 15, Name: "saturates where infinity is due", Equivalent: onlyFP16},
		{Number: 16, Name: "NaN for an all-zero block"},
		{Number: 17, Name: "matrix of the first group for all"},
		{Number: 18, Name: "each group but the last ends a row late"},
		{Number: 19, Name: "rows beyond twice an even share of a group dropped"},
		{Number: 20, Name: "last group left out"},
		{Number: 21, Name: "tiles that cross groups have the first one's matrix"},
		{Number: 22, Name: "w read as k rows of n"},
	},
}}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// emulation is a kernel on a case.
type emulation struct {
	truthtest.Arithmetic
	x, w, scaleX, scaleW []float64
	n, k, groups         int
	kBlocks, nBlocks     int
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	shape := p.In["w"].Shape
	e := &emulation{
		Arithmetic: a, x: p.V["x"], w: p.V["w"], scaleX: p.V["scale_x"], scaleW: p.V["scale_w"],
		groups: int(shape[0]), n: int(shape[1]), k: int(shape[2]),
	}
	e.kBlocks, e.nBlocks = (e.k+scaleBlock-1)/scaleBlock, (e.n+scaleBlock-1)/scaleBlock
	if a.Bug == "e4m3 read as e5m2" {
		e.w = tensor.Decode(op.E5M2, tensor.Encode(op.E4M3, e.w))
	}
	y := make([]float64, p.In["x"].Shape[0]*shape[1])
	offsets := e.starts(p.V["offsets"])
	for g := range e.groups {
		e.group(y, g, offsets[g], offsets[g+1])
	}
	format, _ := tensor.FormatOf(p.Plan.Outputs[0].DType)
	for i, v := range y {
		if a.Bug == "saturates where infinity is due" && truth.IsFinite(v) {
			y[i] = min(max(v, -format.Max), format.Max)
		}
	}
	return [][]float64{y}
}

// starts returns the starts of the groups, and the end.
func (e *emulation) starts(offsets []float64) []int {
	starts := make([]int, len(offsets))
	const tile = 16
	for i, v := range offsets {
		starts[i] = int(v)
		last := int(offsets[len(offsets)-1])
		switch {
		case i == 0:
		case e.Bug == "each group but the last ends a row late":
			starts[i] = min(int(v)+1, last)
		case e.Bug == "tiles that cross groups have the first one's matrix":
			starts[i] = min((int(v)+tile-1)/tile*tile, last)
		}
	}
	return starts
}

// group writes the rows of one group.
func (e *emulation) group(y []float64, g, from, to int) {
	switch e.Bug {
	case "rows beyond twice an even share of a group dropped":
		to = min(to, from+2*(len(y)/max(e.n, 1)/e.groups)+1)
	case "last group left out":
		if g == e.groups-1 {
			return
		}
	}
	for row := from; row < to; row++ {
		for col := range e.n {
			y[row*e.n+col] = e.element(g, from, row, col)
		}
	}
}

// weight is the number of w[g] that belongs to a column and k.
func (e *emulation) weights(g, col int) []float64 {
	if e.Bug == "matrix of the first group for all" {
		g = 0
	}
	matrix := e.w[g*e.n*e.k : (g+1)*e.n*e.k]
	if e.Bug != "w read as k rows of n" {
		return matrix[col*e.k : (col+1)*e.k]
	}
	row := make([]float64, e.k)
	for k := range row {
		row[k] = matrix[k*e.n+col]
	}
	return row
}

func (e *emulation) element(g, first, row, col int) float64 {
	x, w, k, length := e.x[row*e.k:(row+1)*e.k], e.weights(g, col), e.k, e.Block
	if e.Bug == "last k block missing" {
		k = max(e.kBlocks-1, 0) * scaleBlock
	}
	if e.Order == truthtest.InLanes {
		return truthtest.Sum32(e.Order, k, func(i int) float64 {
			sx, sw := e.scales(g, first, row, col, i/scaleBlock)
			return truthtest.F32(x[i]*sx) * truthtest.F32(w[i]*sw)
		})
	}
	total := 0.0
	for from := 0; from < k; from += length {
		to := min(from+length, k)
		sum := e.blockSum(x[from:to], w[from:to])
		sx, sw := e.scales(g, first, row, col, from/scaleBlock)
		total = truthtest.F32(total + truthtest.F32(sum*truthtest.F32(sx*sw)))
	}
	return total
}

func (e *emulation) blockSum(x, w []float64) float64 {
	switch {
	case e.Bug == "bf16 accumulator":
		return truthtest.SumLow(op.BF16, len(x), func(k int) float64 { return x[k] * w[k] })
	case e.Other:
		return producttest.TensorCore(op.E4M3, op.E4M3).Sum(x, w)
	}
	return producttest.InFP32(0, x, w)
}

// scales returns the multipliers of a row and a column of a group, which begins at row first, in a block.
func (e *emulation) scales(g, first, row, col, block int) (sx, sw float64) {
	next := min(block+1, e.kBlocks-1)
	ofX := func(row, block int) float64 { return e.scaleX[row*e.kBlocks+block] }
	ofW := func(g, col, block int) float64 {
		return e.scaleW[(g*e.nBlocks+col/scaleBlock)*e.kBlocks+block]
	}
	sx, sw = ofX(row, block), ofW(g, col, block)
	switch e.Bug {
	case "x scale of the next block":
		sx = ofX(row, next)
	case "w scale of the next k block":
		sw = ofW(g, col, next)
	case "w scale of the next n block":
		sw = ofW(g, min(col+scaleBlock, e.n-1), block)
	case "w scale of the first group for all":
		sw = ofW(0, col, block)
	case "x scales counted from the group's first row":
		sx = ofX(row-first, block)
	case "x scale of row 0":
		sx = ofX(0, block)
	case "inverted scale":
		sx = truthtest.F32(1 / sx)
	case "scale rounded to a power of two":
		sx = math.Exp2(math.Round(math.Log2(sx)))
	case "scale in bf16":
		sx, sw = tensor.Round(op.BF16, sx, false), tensor.Round(op.BF16, sw, false)
	case "scale too small by 448/240":
		sx = truthtest.F32(sx * 240 / 448)
	case "scale of x missing":
		sx = 1
	case "NaN for an all-zero block":
		if sx == 0 || sw == 0 {
			sx = math.NaN()
		}
	}
	return sx, sw
}
