package fp8gemm

import (
	"math"
	"slices"
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
	{Block: scaleBlock},
	{Block: 64},
	{Block: scaleBlock, Other: true},
	{Order: truthtest.InLanes},
}

// underScaling returns why a bug of scales shows nothing where there is just one, or one a row.
func underScaling(reasons map[string]string) func(truthtest.Group) string {
	return truthtest.Under("scaling", reasons)
}

const (
	oneScale   = "there is one scale, whatever its index"
	noNext     = "there is no other block to take it from"
	commutes   = "the product of both scales is the same"
	noCrossing = "a scale begins every 128 of K, so no sum in the tensor core crosses a promotion block"
)

func onlyFP16(g truthtest.Group) string {
	switch {
	case g.Attribute == "scaling":
		return "how an output is stored does not depend on the scaling"
	case g.Value != "fp16":
		return "products of the suite lie below 2^126: none overflows " + g.Value
	}
	return ""
}

var suites = []truthtest.Suite{
	{Op: "fp8_gemm", Pass: op.Forward, Right: variants, Kernel: emulated, Mutants: []truthtest.Mutant{
		{Number: 1, Name: "no promotion", Equivalent: underScaling(map[string]string{"block": noCrossing})},
		{
			Number: 2, Name: "a scale of the next block",
			Equivalent: underScaling(map[string]string{"tensor": noNext, "row": noNext}),
		},
		{
			Number: 3, Name: "b scale of the next k block",
			Equivalent: underScaling(map[string]string{"tensor": noNext, "row": noNext}),
		},
		{
			Number: 4, Name: "b scale of the next n block",
			Equivalent: underScaling(map[string]string{"tensor": noNext, "row": noNext}),
		},
		{Number: 5, Name: "scale of row 0", Equivalent: underScaling(map[string]string{"tensor": oneScale})},
		{Number: 6, Name: "inverted scale"},
		{Number: 7, Name: "last a scale missing"},
		{Number: 8, Name: "last k block missing"},
		{Number: 9, Name: "bf16 accumulator"},
		{Number: 10, Name: "scale rounded to a power of two"},
		{
			Number: 11, Name: "one scale for all",
			Equivalent: underScaling(map[string]string{"tensor": oneScale}),
		},
		{Number: 12, Name: "scale in bf16"},
		{Number: 13, Name: "e4m3 read as e5m2"},
		{Number: 14, Name: "scale too small by 448/240"},
		{Number: 15, Name: "scale applied twice"},
		{
			Number: 16, Name: "scales of a and b swapped",
			Equivalent: underScaling(map[string]string{"tensor": commutes}),
		},
		{
			Number: 17, Name: "row and column scales swapped",
			Equivalent: underScaling(map[string]string{"tensor": oneScale}),
		},
		{Number: 18, Name: "saturates where infinity is due", Equivalent: onlyFP16},
		{
			Number: 19, Name: "scale by tile, not by row",
			Equivalent: underScaling(map[string]string{"tensor": oneScale}),
		},
		{Number: 20, Name: "NaN for an all-zero block"},
	}},
	{
		Op: "fp8_gemm", Pass: op.Backward, Right: variants, Kernel: emulatedBackward,
		Mutants: []truthtest.Mutant{
			{Number: 1, Name: "bt not transposed"},
			{Number: 2, Name: "scale of g missing"},
			{Number: 3, Name: "e5m2 read as e4m3"},
			{
				Number: 4, Name: "scales of g and bt swapped",
				Equivalent: underScaling(map[string]string{"tensor": commutes}),
			},
			{Number: 5, Name: "g read as gt"},
			{Number: 6, Name: "last 128 of the sum dropped"},
		},
	},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// emulatedOperand is a K-major matrix with its scales; index returns the scale of a row in a block of 128
// along K.
type emulatedOperand struct {
	values, scales []float64
	rows, k        int
	dtype          op.DType
	index          func(row, block int) int
}

// scale returns the multiplier of a row in a block; a row or block outside the matrix reads the last one.
func (o emulatedOperand) scale(row, block int) float64 {
	return o.scales[o.index(min(row, o.rows-1), min(block, o.blocks()-1))]
}

func (o emulatedOperand) blocks() int { return (o.k + scaleBlock - 1) / scaleBlock }

// preparedOperand reads a matrix and its scales, each shared by rowsPerBlock rows under block scaling.
func preparedOperand(p *truthtest.Prepared, name, scale string, rowsPerBlock int) emulatedOperand {
	values, rows, k := p.Matrix(name)
	o := emulatedOperand{values: values, scales: p.V[scale], rows: rows, k: k, dtype: p.In[name].DType}
	blocks := o.blocks()
	o.index = map[string]func(row, block int) int{
		"tensor": func(_, _ int) int { return 0 },
		"row":    func(row, _ int) int { return row },
		"block":  func(row, block int) int { return row/rowsPerBlock*blocks + block },
	}[p.Attrs.Text("scaling")]
	return o
}

// readAs returns the values that the codes of an operand have in another fp8 dtype.
func (o emulatedOperand) readAs(d op.DType) emulatedOperand {
	o.values = tensor.Decode(d, tensor.Encode(o.dtype, o.values))
	return o
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	left, right := preparedOperand(p, "a", "scale_a", 1), preparedOperand(p, "b", "scale_b", scaleBlock)
	if a.Bug == "e4m3 read as e5m2" {
		if left.dtype == op.E4M3 {
			left = left.readAs(op.E5M2)
		} else {
			right = right.readAs(op.E5M2)
		}
	}
	c := emulatedProduct(a, p, left, right)
	if a.Bug == "saturates where infinity is due" {
		largest, _ := tensor.FormatOf(p.Plan.Outputs[0].DType)
		for i, v := range c {
			if truth.IsFinite(v) {
				c[i] = min(max(v, -largest.Max), largest.Max)
			}
		}
	}
	return [][]float64{c}
}

func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	g, bt := preparedOperand(p, "g", "scale_g", 1), preparedOperand(p, "bt", "scale_bt", scaleBlock)
	gt, at := preparedOperand(p, "gt", "scale_gt", 1), preparedOperand(p, "at", "scale_at", scaleBlock)
	switch a.Bug {
	case "bt not transposed":
		bt.values = transposed(bt.values, bt.rows, bt.k)
	case "scale of g missing":
		g.scales = slices.Repeat([]float64{1}, len(g.scales))
	case "e5m2 read as e4m3":
		g = g.readAs(op.E4M3)
	case "g read as gt":
		gt.values = g.values
	}
	da := emulatedProduct(a, p, g, bt)
	if a.Bug == "scales of g and bt swapped" {
		a.Bug = ""
	}
	return [][]float64{da, emulatedProduct(a, p, gt, at)}
}

// transposed returns the elements of a matrix column by column.
func transposed(x []float64, rows, cols int) []float64 {
	out := make([]float64, 0, len(x))
	for c := range cols {
		for r := range rows {
			out = append(out, x[r*cols+c])
		}
	}
	return out
}

// emulatedProduct returns left right^T with its scales, in fp32 across blocks of K.
func emulatedProduct(a truthtest.Arithmetic, p *truthtest.Prepared, left, right emulatedOperand) []float64 {
	c := make([]float64, 0, left.rows*right.rows)
	k, length := left.k, a.Block
	switch a.Bug {
	case "last k block missing", "last 128 of the sum dropped":
		k = max(left.blocks()-1, 0) * scaleBlock
	case "no promotion":
		length, a.Other = max(k, 1), true
	}
	for i := range left.rows {
		for j := range right.rows {
			if a.Order == truthtest.InLanes {
				c = append(c, emulatedDequantized(a, left, right, i, j))
				continue
			}
			total := 0.0
			for first := 0; first < k; first += length {
				last := min(first+length, k)
				sum := emulatedBlockSum(a, producttest.TensorCore(left.dtype, right.dtype),
					left.values[i*left.k+first:i*left.k+last], right.values[j*left.k+first:j*left.k+last])
				sa, sb := emulatedScales(a, left, right, i, j, first/scaleBlock)
				total = truthtest.F32(total + truthtest.F32(sum*truthtest.F32(sa*sb)))
			}
			c = append(c, total)
		}
	}
	return c
}

// emulatedScales returns the multipliers of an element of the product in a block of K.
func emulatedScales(a truthtest.Arithmetic, left, right emulatedOperand, i, j, block int) (sa, sb float64) {
	sa, sb = left.scale(i, block), right.scale(j, block)
	switch a.Bug {
	case "a scale of the next block":
		sa = left.scale(i, block+1)
	case "b scale of the next k block":
		sb = right.scale(j, block+1)
	case "b scale of the next n block":
		sb = right.scale(j+scaleBlock, block)
	case "scale of row 0":
		sa = left.scale(0, block)
	case "inverted scale":
		sa = truthtest.F32(1 / sa)
	case "last a scale missing":
		if left.index(i, block) == len(left.scales)-1 {
			sa = 1
		}
	case "scale rounded to a power of two":
		sa = math.Exp2(math.Round(math.Log2(sa)))
	case "one scale for all":
		sa, sb = left.scales[0], right.scales[0]
	case "scale in bf16":
		sa, sb = tensor.Round(op.BF16, sa, false), tensor.Round(op.BF16, sb, false)
	case "scale too small by 448/240":
		sa = truthtest.F32(sa * 240 / 448)
	case "scale applied twice":
		sa = truthtest.F32(sa * sa)
	case "scales of a and b swapped", "scales of g and bt swapped":
		sa, sb = right.scales[left.index(i, block)%len(right.scales)],
			left.scales[right.index(j, block)%len(left.scales)]
	case "row and column scales swapped":
		sa, sb = left.scale(j, block), right.scale(i, block)
	case "scale by tile, not by row":
		sa = left.scale(i/truthtest.Vector, block)
	case "NaN for an all-zero block":
		if sa == 0 || sb == 0 {
			sa = math.NaN()
		}
	}
	return sa, sb
}

// emulatedBlockSum adds the products of one promotion block: in fp32, or as a tensor core does, 32 at a time.
func emulatedBlockSum(a truthtest.Arithmetic, tensorCore producttest.Adder, x, y []float64) float64 {
	if a.Bug == "bf16 accumulator" {
		return truthtest.SumLow(op.BF16, len(x), func(k int) float64 { return x[k] * y[k] })
	}
	if a.Other {
		return tensorCore.Sum(x, y)
	}
	s := float32(0)
	for k, v := range x {
		s += float32(v * y[k])
	}
	return float64(s)
}

// emulatedDequantized returns one element from operands that are multiplied by their scales first, summed in
// 32 lanes.
func emulatedDequantized(a truthtest.Arithmetic, left, right emulatedOperand, i, j int) float64 {
	return truthtest.Sum32(truthtest.InLanes, left.k, func(k int) float64 {
		return truthtest.F32(left.values[i*left.k+k]*left.scale(i,
			k/scaleBlock)) * truthtest.F32(right.values[j*left.k+k]*right.scale(j, k/scaleBlock))
	})
}
