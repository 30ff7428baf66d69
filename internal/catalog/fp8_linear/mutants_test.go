package fp8_linear

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/fp8"
	"triad/internal/truth/truthtest"
)

// variants: fp32 sums promoted every 128 and every 64, and dequantised operands summed in 32 lanes.
var variants = []truthtest.Arithmetic{
	{Block: fp8.Side}, {Block: 64}, {Order: truthtest.InLanes},
}

// under returns why a bug shows nothing under some recipes.
func under(reasons map[string]string) func(truthtest.Group) string {
	return truthtest.Under("recipe", reasons)
}

const (
	oneScale = "there is one scale, whatever its index"
	noPowers = "its scales are no powers of two"
	inBF16   = "grad_w takes numbers that are not quantised"
	same     = "it is quantised so"
)

var suites = []truthtest.Suite{
	{Op: name, Pass: op.Forward, Right: variants, Kernel: emulated, Mutants: []truthtest.Mutant{
		{Number: 1, Name: "nothing quantised"},
		{Number: 2, Name: "w not quantised"},
		{Number: 3, Name: "e5m2 in place of e4m3"},
		{Number: 4, Name: "codes truncated"},
		{Number: 5, Name: "scales up to 240"},
		{
			Number: 6, Name: "scale of the next row",
			Equivalent: under(map[string]string{"tensorwise": oneScale}),
		},
		{Number: 7, Name: "inverse scale stored"},
		{Number: 8, Name: "x by the tensor", Equivalent: under(map[string]string{"tensorwise": same})},
		{Number: 9, Name: "w by rows", Equivalent: under(map[string]string{
			"rowwise": same, "rowwise_with_gw_hp": same,
		})},
		{Number: 10, Name: "scales not made powers of two", Equivalent: under(map[string]string{
			"tensorwise": noPowers, "block": noPowers,
		})},
		{Number: 11, Name: "last block of the sum missing"},
		{Number: 12, Name: "bf16 accumulator"},
		{Number: 13, Name: "least amax of the other library"},
		{Number: 14, Name: "NaN lost in the largest"},
		{Number: 15, Name: "scale of x missing"},
		{Number: 16, Name: "largest without its sign"},
	}},
	{Op: name, Pass: op.Backward, Right: variants, Kernel: emulatedBackward, Mutants: []truthtest.Mutant{
		{Number: 1, Name: "grad_y in e4m3", Equivalent: under(map[string]string{
			"rowwise": same, "rowwise_with_gw_hp": same, "block": same,
		})},
		{Number: 2, Name: "nothing quantised"},
		{Number: 3, Name: "codes of w from the forward", Equivalent: under(map[string]string{
			"tensorwise": oneScale, "block": "a tile of the transpose is the tile",
		})},
		{Number: 4, Name: "codes of x from the forward", Equivalent: under(map[string]string{
			"tensorwise": oneScale, "rowwise_with_gw_hp": inBF16,
		})},
		{Number: 5, Name: "codes of grad_y in grad_w from grad_x", Equivalent: under(map[string]string{
			"tensorwise": oneScale, "rowwise_with_gw_hp": inBF16,
		})},
		{Number: 6, Name: "grad_w in fp8", Equivalent: under(map[string]string{
			"tensorwise": same, "rowwise": same, "block": same,
		})},
		{Number: 7, Name: "w by rows in grad_x", Equivalent: under(map[string]string{"rowwise": same})},
		{Number: 8, Name: "last block of the sum missing"},
		{Number: 9, Name: "bf16 accumulator"},
		{Number: 10, Name: "codes truncated"},
		{Number: 11, Name: "scale of x missing", Equivalent: under(map[string]string{
			"rowwise_with_gw_hp": inBF16,
		})},
	}},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// matrix is an operand: its values, as codes where it is quantised, and what multiplies each.
type matrix struct {
	values, scales []float64
	rows, k        int
}

func (x matrix) at(row, k int) float64 {
	return truthtest.F32(x.values[row*x.k+k] * x.scales[row*x.k+k])
}

// operandOf quantises a matrix with a bug; plain leaves it as it is.
func operandOf(a truthtest.Arithmetic, x []float64, rows, k int, q quantity, plain bool) (matrix, []float64) {
	m := matrix{values: append([]float64(nil), x...), scales: make([]float64, len(x)), rows: rows, k: k}
	for i := range m.scales {
		m.scales[i] = 1
	}
	if plain || a.Bug == "nothing quantised" {
		return m, nil
	}
	of := tensor.New("x", op.FP32, []int64{int64(rows), int64(k)})
	seen := append([]float64(nil), x...)
	for i, v := range seen {
		if a.Bug == "NaN lost in the largest" && math.IsNaN(v) ||
			a.Bug == "largest without its sign" && v < 0 {
			seen[i] = 0
		}
	}
	of.SetFloat64s(seen)
	groups := fp8.GroupsOf(of, q.per)
	stored, factors := make([]float64, len(groups.Amax)), make([]float64, len(groups.Amax))
	for i, amax := range groups.Amax {
		stored[i], factors[i] = scaleOf(a, q.Recipe, amax)
	}
	for i, v := range x {
		g := groups.Of([]int64{int64(i / k), int64(i % k)})
		m.values[i] = q.Code(v, factors[g])
		if a.Bug == "codes truncated" {
			m.values[i] = truncated(q.Recipe, v, factors[g])
		}
		if a.Bug == "scale of the next row" {
			g = min(groups.Of([]int64{int64(min(i/k+1, rows-1)), int64(i % k)}), int64(len(stored)-1))
		}
		m.scales[i] = q.Multiplier(stored[g])
	}
	if a.Bug == "inverse scale stored" {
		for i, s := range stored {
			stored[i] = truthtest.F32(1 / s)
		}
	}
	return m, stored
}

// scaleOf is Recipe.Scale with a bug.
func scaleOf(a truthtest.Arithmetic, r fp8.Recipe, amax float64) (stored, factor float64) {
	switch a.Bug {
	case "scales not made powers of two":
		r.Powers = false
	case "least amax of the other library":
		if !r.DeepSeek {
			amax = max(amax, 1e-4)
		} else if amax < 1e-4 {
			s, f := float32(1e-12)/r.Most(), r.Most()/1e-12
			return float64(s), float64(f)
		}
	case "scales up to 240":
		stored, factor = r.Scale(amax)
		by := 240 / float64(r.Most())
		if r.DeepSeek {
			return truthtest.F32(stored / by), truthtest.F32(factor * by)
		}
		return truthtest.F32(stored * by), truthtest.F32(factor * by)
	}
	return r.Scale(amax)
}

// truncated returns the code of x rounded toward 0.
func truncated(r fp8.Recipe, x, factor float64) float64 {
	code := r.Code(x, factor)
	if product := truthtest.F32(x * factor); math.Abs(code) > math.Abs(product) {
		format, _ := tensor.FormatOf(r.Format)
		return code - math.Copysign(format.ULP(math.Nextafter(math.Abs(code), 0)), code)
	}
	return code
}

// multiplied returns a b^T.
func multiplied(a truthtest.Arithmetic, p *truthtest.Prepared, x, y matrix) []float64 {
	k := x.k
	if a.Bug == "last block of the sum missing" {
		k = max((k-1)/fp8.Side, 0) * fp8.Side
	}
	out := make([]float64, 0, x.rows*y.rows)
	for i := range x.rows {
		for j := range y.rows {
			switch {
			case a.Bug == "bf16 accumulator":
				out = append(out, truthtest.SumLow(p.Low(), k, func(c int) float64 {
					return x.at(i, c) * y.at(j, c)
				}))
			case a.Order == truthtest.InLanes:
				out = append(out, truthtest.Sum32(truthtest.InLanes, k, func(c int) float64 {
					return truthtest.F32(x.at(i, c) * y.at(j, c))
				}))
			default:
				out = append(out, inBlocks(x, y, i, j, k, a.Block))
			}
		}
	}
	return out
}

// inBlocks adds codes, scales the sum of a block, and adds those.
func inBlocks(x, y matrix, i, j, k, length int) float64 {
	total := float32(0)
	for first := 0; first < k; first += length {
		sum := float32(0)
		for c := first; c < min(first+length, k); c++ {
			sum += float32(x.values[i*x.k+c] * y.values[j*y.k+c])
		}
		a, b := x.scales[i*x.k+first], y.scales[j*y.k+first]
		total += float32(truthtest.F32(float64(sum)*min(a, b)) * max(a, b))
	}
	return float64(total)
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	of := recipes[p.Attrs.Text("recipe")]
	switch a.Bug {
	case "e5m2 in place of e4m3":
		of.x.Format, of.w.Format = op.E5M2, op.E5M2
	case "x by the tensor":
		of.x.per = "tensor"
	case "w by rows":
		of.w.per = "row"
	}
	values, rows, k := p.Matrix("x")
	x, scaleX := operandOf(a, values, rows, k, of.x, false)
	values, rows, _ = p.Matrix("w")
	w, scaleW := operandOf(a, values, rows, k, of.w, a.Bug == "w not quantised")
	if a.Bug == "scale of x missing" {
		for i := range x.scales {
			x.scales[i] = 1
		}
	}
	return [][]float64{
		multiplied(a, p, x, w), fitting(scaleX, p.Truth.Outputs[1].R), fitting(scaleW, p.Truth.Outputs[2].R),
	}
}

// fitting returns scales where a bug leaves as many as there should be, else the right ones.
func fitting(scales, right []float64) []float64 {
	if len(scales) == len(right) {
		return scales
	}
	return right
}

func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	of := recipes[p.Attrs.Text("recipe")]
	switch a.Bug {
	case "grad_y in e4m3":
		of.grad.Format, of.gradT.Format = op.E4M3, op.E4M3
	case "w by rows in grad_x":
		of.wOfX.per = "row"
	case "grad_w in fp8":
		if of.highPrecision {
			of.highPrecision, of.gradT, of.xOfW = false, of.grad, of.x
		}
	}
	values, m, n := p.Matrix("grad_y")
	gradT := transposed(values, m, n)
	grad, _ := operandOf(a, values, m, n, of.grad, false)
	values, _, k := p.Matrix("w")
	w, _ := operandOf(a, transposed(values, n, k), k, n, of.wOfX, false)
	if a.Bug == "codes of w from the forward" {
		w = w.withCodesOf(a, values, n, k, of.w)
	}
	values, _, _ = p.Matrix("x")
	g, _ := operandOf(a, gradT, n, m, of.gradT, of.highPrecision)
	x, _ := operandOf(a, transposed(values, m, k), k, m, of.xOfW, of.highPrecision)
	if !of.highPrecision {
		switch a.Bug {
		case "codes of x from the forward":
			x = x.withCodesOf(a, values, m, k, of.x)
		case "codes of grad_y in grad_w from grad_x":
			g = g.withCodesOf(a, p.V["grad_y"], m, n, of.grad)
		case "scale of x missing":
			for i := range x.scales {
				x.scales[i] = 1
			}
		}
	}
	return [][]float64{multiplied(a, p, grad, w), multiplied(a, p, g, x)}
}

// withCodesOf replaces the codes of an operand by those that its transpose, rows x k, has in another product.
func (m matrix) withCodesOf(a truthtest.Arithmetic, x []float64, rows, k int, q quantity) matrix {
	other, _ := operandOf(a, x, rows, k, q, false)
	m.values = transposed(other.values, rows, k)
	return m
}

func transposed(x []float64, rows, cols int) []float64 {
	out := make([]float64, 0, len(x))
	for c := range cols {
		for r := range rows {
			out = append(out, x[r*cols+c])
		}
	}
	return out
}
