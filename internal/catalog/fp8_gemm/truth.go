// Package fp8gemm is the truth of fp8_gemm: the product of two fp8 matrices with scales.
package fp8gemm

import (
	"fmt"
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/parallel"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Register("fp8_gemm", truth.Definition{
	Forward: forward, Backward: backward, Permits: []string{"promoted", "fast"},
})

// scaleBlock is the edge of a block that shares a scale: 1x128 of the first operand, 128x128 of the second.
const scaleBlock = 128

// mmaStep is how much of K one tensor-core instruction adds at once on Hopper (32 fp8 numbers).
const mmaStep = 32

func forward(k *truth.Request) ([]judge.Target, error) {
	c, err := productOf(k, "c", "a", "scale_a", "b", "scale_b")
	if err != nil {
		return nil, err
	}
	return []judge.Target{c}, nil
}

// backward is two products of operands that are already quantised in the layout they are needed in.
func backward(k *truth.Request) ([]judge.Target, error) {
	da, err := productOf(k, "grad_a", "g", "scale_g", "bt", "scale_bt")
	if err != nil {
		return nil, err
	}
	db, err := productOf(k, "grad_b", "gt", "scale_gt", "at", "scale_at")
	if err != nil {
		return nil, err
	}
	return []judge.Target{da, db}, nil
}

// operand is a K-major matrix with its scales: what row r is multiplied by in K block b is
// scales[scaleRow(r)*perRow + b*along].
type operand struct {
	matrix        tensor.Tensor
	scales        []float64
	rows, k       int64
	rowsPerScale  int64 // rows that share a scale
	perRow, along int64 // scales of one row; 1 where they go along K, else 0
	unit          float64
}

// factors are rows of an operand: the values, and the magnitudes that Hopper's adder aligns their products
// by. A subnormal is not normalised there: it counts as the smallest normal number of its format, while a
// zero makes no product.
type factors struct{ values, aligned []float64 }

func newFactors(n int64) factors { return factors{make([]float64, n), make([]float64, n)} }

// part is from k = first to last.
func (f factors) part(first, last int64) factors {
	return factors{f.values[first:last], f.aligned[first:last]}
}

// row decodes one row.
func (o operand) row(into factors, r int64) factors {
	o.matrix.DecodeRow(into.values, r, 0)
	return o.align(into)
}

// align fills in the magnitudes of values.
func (o operand) align(f factors) factors {
	format, _ := tensor.FormatOf(o.matrix.DType)
	smallest := math.Ldexp(1, format.EMin)
	for i, v := range f.values {
		if f.aligned[i] = math.Abs(v); v != 0 {
			f.aligned[i] = max(f.aligned[i], smallest)
		}
	}
	return f
}

// chosen decodes some rows, one after the other.
func (o operand) chosen(rows []int64) factors {
	all := newFactors(int64(len(rows)) * o.k)
	parallel.Each(int64(len(rows)), func(i int64) { o.row(all.part(i*o.k, (i+1)*o.k), rows[i]) })
	return all
}

// scale is the multiplier of row r in K block b.
func (o operand) scale(r, b int64) float64 { return o.scales[r/o.rowsPerScale*o.perRow+b*o.along] }

// operandOf reads a matrix and its scales; rowsPerBlock is 1 for the first operand and 128 for the second.
func operandOf(k *truth.Request, name, scale, scaling string, rowsPerBlock int64) (operand, error) {
	t, err := k.Tensor(name)
	if err != nil {
		return operand{}, err
	}
	s, err := k.Tensor(scale)
	if err != nil {
		return operand{}, err
	}
	if len(t.Shape) != 2 {
		return operand{}, fmt.Errorf("%s has shape %v: want a matrix", name, t.Shape)
	}
	o := operand{matrix: t, scales: s.Float64s(), rows: t.Shape[0], k: t.Shape[1]}
	if k.Distribution == "integers" {
		o.unit = unitOf(t.Float64s()) // asked only where every sum may be exact
	}
	want := int64(1)
	switch scaling {
	case "tensor":
		o.rowsPerScale = max(o.rows, 1)
	case "row":
		o.rowsPerScale, o.perRow, want = 1, 1, o.rows
	case "block":
		o.rowsPerScale, o.perRow, o.along = rowsPerBlock, ceilDiv(o.k, scaleBlock), 1
		want = ceilDiv(o.rows, rowsPerBlock) * o.perRow
	default:
		return operand{}, fmt.Errorf("attribute scaling = %q: want tensor, row or block", scaling)
	}
	if int64(len(o.scales)) != want {
		return operand{}, fmt.Errorf("%s has %d elements: want %d for scaling %s", scale, len(o.scales), want,
			scaling)
	}
	return o, nil
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// unitOf is the largest power of two that every value is a multiple of; 0 where one is not finite, 1 where
// all are 0.
func unitOf(values []float64) float64 {
	lowest := math.MaxInt
	for _, v := range values {
		if !truth.IsFinite(v) {
			return 0
		}
		if v != 0 {
			fraction, exponent := math.Frexp(v)
			for fraction != math.Trunc(fraction) {
				fraction, exponent = fraction*2, exponent-1
			}
			lowest = min(lowest, exponent)
		}
	}
	if lowest == math.MaxInt {
		return 1
	}
	return math.Ldexp(1, lowest)
}

// productOf is c = (a*scale_a) (b*scale_b)^T.
func productOf(k *truth.Request, name, aName, aScale, bName, bScale string) (judge.Target, error) {
	scaling := k.Attrs.Text("scaling")
	a, err := operandOf(k, aName, aScale, scaling, 1)
	if err != nil {
		return judge.Target{}, err
	}
	b, err := operandOf(k, bName, bScale, scaling, scaleBlock)
	if err != nil {
		return judge.Target{}, err
	}
	if a.k != b.k {
		return judge.Target{}, fmt.Errorf("%s has %d columns and %s has %d: want as many", aName,
			a.k, bName, b.k)
	}
	d, err := op.ParseDType(k.Attrs.Text("out"))
	if err != nil {
		return judge.Target{}, fmt.Errorf("attribute out: %w", err)
	}
	g := gemm{
		a: a, b: b, rules: k.Rules, length: k.Rules.SumBlock, out: d,
		integers: k.Distribution == "integers",
	}
	switch {
	case g.length == 0 && scaling == "block":
		g.length = scaleBlock // another scale begins here: no instruction sums across it
	case g.length == 0:
		g.length = max(a.k, 1)
	}
	g.blocks = ceilDiv(a.k, g.length)
	chosen := choosePart(k, a, b)
	c := k.Target(name, d, []int64{a.rows, b.rows}, []int64{})
	c.Index = chosen.index
	c.R, c.T, c.Sim = make([]float64, chosen.n), make([]float64, chosen.n), make([]float64, chosen.n)
	if exact := g.fill(c, chosen); exact && g.integers {
		clear(c.T)
		c.Exact = true
	}
	c.TFP32 = c.T // no contract of a product stores anything low
	if chosen.index != nil {
		c.Freivalds = g.freivalds(chosen.seed, truth.Rest(chosen.rows, a.rows),
			truth.Rest(chosen.cols, b.rows))
	}
	return c, nil
}

func allTrue(x []bool) bool {
	for _, v := range x {
		if !v {
			return false
		}
	}
	return true
}

// gemm is one product under a contract: length of K is summed in the tensor core before fp32 takes over,
// blocks of them.
type gemm struct {
	a, b           operand
	rules          truth.Contract
	length, blocks int64
	out            op.DType
	integers       bool // every sum may be exact
}

// Largest sums, in units of the operands' common unit, that are exact whatever the order: within a block 13
// bits below the largest term are kept, across blocks 24.
const (
	exactInBlock = 1 << 14
	exactAcross  = 1 << 24
)

// fill computes the chosen part: whole rows of the first operand against every row of the second, then the
// columns that are left. It says whether every sum is exact.
func (g gemm) fill(c judge.Target, part productPart) bool {
	// of each column against the whole rows, and of each row that is left
	exact := make([]bool, g.b.rows+g.a.rows)
	a := g.a.chosen(part.rows)
	parallel.EachWith(g.b.rows, g.newRow, func(b factors, n int64) {
		g.b.row(b, n)
		exact[n] = true
		for i, r := range part.rows {
			exact[n] = g.put(c, part.start[r]+n, a.part(int64(i)*g.a.k, int64(i+1)*g.a.k), b, r, n) &&
				exact[n]
		}
	})
	left, b := truth.Rest(part.rows, g.a.rows), g.b.chosen(part.cols)
	parallel.EachWith(int64(len(left)), g.newRow, func(a factors, i int64) {
		r := left[i]
		g.a.row(a, r)
		exact[g.b.rows+i] = true
		for j, n := range part.cols {
			exact[g.b.rows+i] = g.put(c, part.start[r]+int64(j), a, b.part(int64(j)*g.b.k, int64(j+1)*g.b.k),
				r, n) && exact[g.b.rows+i]
		}
	})
	return allTrue(exact[:g.b.rows+int64(len(left))])
}

// newRow is room for one decoded row of an operand.
func (g gemm) newRow() factors { return newFactors(g.a.k) }

// put computes element (r, n) of the product into the target, and says whether its every sum is exact.
func (g gemm) put(c judge.Target, at int64, a, b factors, r, n int64) bool {
	value, t, exact := g.element(a, b, r, n)
	c.R[at], c.T[at], c.Sim[at] = value, t, tensor.Round(g.out, value, false)
	return exact
}

// element is element (r, n) of the product, of decoded rows a and b, with the allowance (over promotion
// blocks b and instructions s of 32 along K)
//
//	T = sum_b s_a*s_b*kappa*2^-13*sum_{s in b} M_s + u32*g(B)*sum_b s_a*s_b*|P_b| + 6*u32*|R|
//
// M_s = max(|S_{s-1}|, |S_s|, max_k |a_k*b_k|) with a subnormal factor counted as the smallest normal number:
// the adder of Hopper's tensor core aligns a step's products, by the exponents that their factors store, and
// the accumulator to the largest and cuts 13 bits below it; S are the partial sums inside the block, P_b its
// last. It says whether every sum is exact.
func (g gemm) element(a, b factors, r, n int64) (value, t float64, exact bool) {
	var lost, size float64
	for block := range g.blocks {
		first, last := block*g.length, min((block+1)*g.length, g.a.k)
		scale := g.a.scale(r, first/scaleBlock) * g.b.scale(n, first/scaleBlock)
		sum, largest := blockSum(a.part(first, last), b.part(first, last))
		value += float64(scale * sum)
		lost += math.Abs(scale) * largest
		size += math.Abs(scale * sum)
	}
	t = lost*g.rules.Kappa*0x1p-13 + judge.U32*judge.G(g.blocks)*size + 6*judge.U32*math.Abs(value)
	return value, t, g.integers && g.exact(a, b, r, n)
}

// exact says whether every sum of an element is exactly representable, in whatever order: within a block and
// across blocks.
func (g gemm) exact(a, b factors, r, n int64) bool {
	most, smallest := 0.0, math.Inf(1)
	for block := range g.blocks {
		first, last := block*g.length, min((block+1)*g.length, g.a.k)
		scale := g.a.scale(r, first/scaleBlock) * g.b.scale(n, first/scaleBlock)
		_, absolute := truth.Dots(a.aligned[first:last], b.aligned[first:last])
		most += math.Abs(scale) * absolute
		if absolute > 0 {
			if !(absolute < exactInBlock*g.a.unit*g.b.unit) {
				return false
			}
			smallest = math.Min(smallest, unitOf([]float64{scale}))
		}
	}
	return most == 0 || most < exactAcross*smallest*g.a.unit*g.b.unit
}

// blockSum adds a_k*b_k of one promotion block, with sum_s M_s as largest.
func blockSum(a, b factors) (sum, largest float64) {
	n := len(a.values)
	x, y, ax, ay := a.values, b.values[:n], a.aligned[:n], b.aligned[:n]
	for first := 0; first < n; first += mmaStep {
		step, most := 0.0, math.Abs(sum)
		for i := first; i < min(first+mmaStep, n); i++ {
			step += float64(x[i] * y[i])
			most = max(most, ax[i]*ay[i])
		}
		sum += step
		largest += max(most, math.Abs(sum))
	}
	return sum, largest
}
