package catalog

import (
	"math"
	"slices"

	"triad/internal/op"
	"triad/internal/tensor"
)

// fp8Variants: fp32 sums promoted every 128 and every 64 of K, the truncating adder of a tensor core, and dequantised operands summed in 32 lanes.
var fp8Variants = []arithmetic{{block: scaleBlock}, {block: 64}, {block: scaleBlock, other: true}, {order: inLanes}}

// underScaling says why a bug of scales is none where there is just one, or one a row.
func underScaling(reasons map[string]string) func(g group) string {
	return func(g group) string {
		if g.attribute == "scaling" {
			return reasons[g.value]
		}
		return ""
	}
}

const (
	oneScale   = "there is one scale, whatever its index"
	noNext     = "there is no other block to take it from"
	commutes   = "the product of both scales is the same"
	noCrossing = "a scale begins every 128 of K, so no sum in the tensor core crosses a promotion block"
)

func onlyFP16(g group) string {
	switch {
	case g.attribute == "scaling":
		return "how an output is stored does not depend on the scaling"
	case g.value != "fp16":
		return "products of the suite lie below 2^126: none overflows " + g.value
	}
	return ""
}

var _ = scored([]suite{
	{op: "fp8_gemm", pass: op.Forward, right: fp8Variants, kernel: emulatedGEMM, mutants: []mutant{
		{1, "no promotion", underScaling(map[string]string{"block": noCrossing})},
		{2, "a scale of the next block", underScaling(map[string]string{"tensor": noNext, "row": noNext})},
		{3, "b scale of the next k block", underScaling(map[string]string{"tensor": noNext, "row": noNext})},
		{4, "b scale of the next n block", underScaling(map[string]string{"tensor": noNext, "row": noNext})},
		{5, "scale of row 0", underScaling(map[string]string{"tensor": oneScale})},
		{6, "inverted scale", nil},
		{7, "last a scale missing", nil},
		{8, "last k block missing", nil},
		{9, "bf16 accumulator", nil},
		{10, "scale rounded to a power of two", nil},
		{11, "one scale for all", underScaling(map[string]string{"tensor": oneScale})},
		{12, "scale in bf16", nil},
		{13, "e4m3 read as e5m2", nil},
		{14, "scale too small by 448/240", nil},
		{15, "scale applied twice", nil},
		{16, "scales of a and b swapped", underScaling(map[string]string{"tensor": commutes})},
		{17, "row and column scales swapped", underScaling(map[string]string{"tensor": oneScale})},
		{18, "saturates where infinity is due", onlyFP16},
		{19, "scale by tile, not by row", underScaling(map[string]string{"tensor": oneScale})},
		{20, "NaN for an all-zero block", nil},
	}},
	{op: "fp8_gemm", pass: op.Backward, right: fp8Variants, kernel: emulatedGEMMBackward, mutants: []mutant{
		{1, "bt not transposed", nil},
		{2, "scale of g missing", nil},
		{3, "e5m2 read as e4m3", nil},
		{4, "scales of g and bt swapped", underScaling(map[string]string{"tensor": commutes})},
		{5, "g read as gt", nil},
		{6, "last 128 of the sum dropped", nil},
	}},
})

// fp8Operand is a K-major matrix with its scales; index gives the scale of a row in a block of 128 along K.
type fp8Operand struct {
	values, scales []float64
	rows, k        int
	dtype          op.DType
	index          func(row, block int) int
}

// scale is the multiplier of a row in a block; what is outside the matrix reads its last row or block.
func (o fp8Operand) scale(row, block int) float64 {
	return o.scales[o.index(min(row, o.rows-1), min(block, o.blocks()-1))]
}

func (o fp8Operand) blocks() int { return (o.k + scaleBlock - 1) / scaleBlock }

// operand reads a matrix and its scales, of which rowsPerBlock rows share one under block scaling.
func (p *prepared) operand(name, scale string, rowsPerBlock int) fp8Operand {
	values, rows, k := p.matrix(name)
	o := fp8Operand{values: values, scales: p.v[scale], rows: rows, k: k, dtype: p.in[name].DType}
	blocks := o.blocks()
	o.index = map[string]func(row, block int) int{
		"tensor": func(_, _ int) int { return 0 },
		"row":    func(row, _ int) int { return row },
		"block":  func(row, block int) int { return row/rowsPerBlock*blocks + block },
	}[p.Attrs.Text("scaling")]
	return o
}

// readAs gives the values that the codes of an operand have in another fp8 dtype.
func (o fp8Operand) readAs(d op.DType) fp8Operand {
	o.values = tensor.Decode(d, tensor.Encode(o.dtype, o.values))
	return o
}

func emulatedGEMM(a arithmetic, p *prepared) [][]float64 {
	left, right := p.operand("a", "scale_a", 1), p.operand("b", "scale_b", scaleBlock)
	if a.bug == "e4m3 read as e5m2" {
		if left.dtype == op.E4M3 {
			left = left.readAs(op.E5M2)
		} else {
			right = right.readAs(op.E5M2)
		}
	}
	c := a.product(p, left, right)
	if a.bug == "saturates where infinity is due" {
		largest, _ := tensor.FormatOf(p.plan.Outputs[0].DType)
		for i, v := range c {
			if isFinite(v) {
				c[i] = min(max(v, -largest.Max), largest.Max)
			}
		}
	}
	return [][]float64{c}
}

func emulatedGEMMBackward(a arithmetic, p *prepared) [][]float64 {
	g, bt := p.operand("g", "scale_g", 1), p.operand("bt", "scale_bt", scaleBlock)
	gt, at := p.operand("gt", "scale_gt", 1), p.operand("at", "scale_at", scaleBlock)
	switch a.bug {
	case "bt not transposed":
		bt.values = transposed(bt.values, bt.rows, bt.k)
	case "scale of g missing":
		g.scales = slices.Repeat([]float64{1}, len(g.scales))
	case "e5m2 read as e4m3":
		g = g.readAs(op.E4M3)
	case "g read as gt":
		gt.values = g.values
	}
	da := a.product(p, g, bt)
	if a.bug == "scales of g and bt swapped" {
		a.bug = ""
	}
	return [][]float64{da, a.product(p, gt, at)}
}

// transposed gives the elements of a matrix column by column.
func transposed(x []float64, rows, cols int) []float64 {
	out := make([]float64, 0, len(x))
	for c := range cols {
		for r := range rows {
			out = append(out, x[r*cols+c])
		}
	}
	return out
}

// product is left right^T with its scales, in fp32 across blocks of K.
func (a arithmetic) product(p *prepared, left, right fp8Operand) []float64 {
	c := make([]float64, 0, left.rows*right.rows)
	k, length := left.k, a.block
	switch a.bug {
	case "last k block missing", "last 128 of the sum dropped":
		k = max(left.blocks()-1, 0) * scaleBlock
	case "no promotion":
		length, a.other = max(k, 1), true
	}
	for i := range left.rows {
		for j := range right.rows {
			if a.order == inLanes {
				c = append(c, a.dequantized(left, right, i, j))
				continue
			}
			total := 0.0
			for first := 0; first < k; first += length {
				last := min(first+length, k)
				sum := a.blockSum(tensorCore(left.dtype, right.dtype), left.values[i*left.k+first:i*left.k+last], right.values[j*left.k+first:j*left.k+last])
				sa, sb := a.scales(left, right, i, j, first/scaleBlock)
				total = f32(total + f32(sum*f32(sa*sb)))
			}
			c = append(c, total)
		}
	}
	return c
}

// scales are the multipliers of an element of the product in a block of K.
func (a arithmetic) scales(left, right fp8Operand, i, j, block int) (sa, sb float64) {
	sa, sb = left.scale(i, block), right.scale(j, block)
	switch a.bug {
	case "a scale of the next block":
		sa = left.scale(i, block+1)
	case "b scale of the next k block":
		sb = right.scale(j, block+1)
	case "b scale of the next n block":
		sb = right.scale(j+scaleBlock, block)
	case "scale of row 0":
		sa = left.scale(0, block)
	case "inverted scale":
		sa = f32(1 / sa)
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
		sa = f32(sa * 240 / 448)
	case "scale applied twice":
		sa = f32(sa * sa)
	case "scales of a and b swapped", "scales of g and bt swapped":
		sa, sb = right.scales[left.index(i, block)%len(right.scales)], left.scales[right.index(j, block)%len(left.scales)]
	case "row and column scales swapped":
		sa, sb = left.scale(j, block), right.scale(i, block)
	case "scale by tile, not by row":
		sa = left.scale(i/vector, block)
	case "NaN for an all-zero block":
		if sa == 0 || sb == 0 {
			sa = math.NaN()
		}
	}
	return sa, sb
}

// blockSum adds the products of one promotion block: in fp32, or as a tensor core does, 32 at a time.
func (a arithmetic) blockSum(tensorCore adder, x, y []float64) float64 {
	if a.bug == "bf16 accumulator" {
		return sumLow(op.BF16, len(x), func(k int) float64 { return x[k] * y[k] })
	}
	if a.other {
		sum := 0.0
		for first := 0; first < len(x); first += mmaStep {
			last := min(first+mmaStep, len(x))
			sum = tensorCore(sum, x[first:last], y[first:last])
		}
		return sum
	}
	s := float32(0)
	for k, v := range x {
		s += float32(v * y[k])
	}
	return float64(s)
}

// dequantized is one element from operands that are multiplied by their scales first, summed in 32 lanes.
func (a arithmetic) dequantized(left, right fp8Operand, i, j int) float64 {
	return sum32(inLanes, left.k, func(k int) float64 {
		return f32(left.values[i*left.k+k]*left.scale(i, k/scaleBlock)) * f32(right.values[j*left.k+k]*right.scale(j, k/scaleBlock))
	})
}
