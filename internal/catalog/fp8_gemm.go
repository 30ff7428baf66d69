package catalog

import (
	"fmt"
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

var _ = register("fp8_gemm", truth{forward: fp8Forward, backward: fp8Backward, permits: []string{"promoted", "fast"}})

// scaleBlock is the edge of a block that shares a scale: 1x128 of the first operand, 128x128 of the second.
const scaleBlock = 128

// mmaStep is how much of K one tensor-core instruction adds at once on Hopper (32 fp8 numbers).
const mmaStep = 32

func fp8Forward(k *call) ([]judge.Target, error) {
	c, err := k.product("c", "a", "scale_a", "b", "scale_b")
	if err != nil {
		return nil, err
	}
	return []judge.Target{c}, nil
}

// fp8Backward is two products of operands that are already quantised in the layout they are needed in.
func fp8Backward(k *call) ([]judge.Target, error) {
	da, err := k.product("grad_a", "g", "scale_g", "bt", "scale_bt")
	if err != nil {
		return nil, err
	}
	db, err := k.product("grad_b", "gt", "scale_gt", "at", "scale_at")
	if err != nil {
		return nil, err
	}
	return []judge.Target{da, db}, nil
}

// operand is a K-major matrix with its scales: what row r is multiplied by in K block b is scales[scaleRow(r)*perRow + b*along].
type operand struct {
	values, scales []float64
	rows, k        int64
	rowsPerScale   int64 // rows that share a scale
	perRow, along  int64 // scales of one row; 1 where they go along K, else 0
	unit           float64
}

// scale is the multiplier of row r in K block b.
func (o operand) scale(r, b int64) float64 { return o.scales[r/o.rowsPerScale*o.perRow+b*o.along] }

// operand reads a matrix and its scales; rowsPerBlock is 1 for the first operand and 128 for the second.
func (k *call) operand(name, scale, scaling string, rowsPerBlock int64) (operand, error) {
	t, err := k.tensor(name)
	if err != nil {
		return operand{}, err
	}
	s, err := k.tensor(scale)
	if err != nil {
		return operand{}, err
	}
	if len(t.Shape) != 2 {
		return operand{}, fmt.Errorf("%s has shape %v: want a matrix", name, t.Shape)
	}
	o := operand{values: t.Float64s(), scales: s.Float64s(), rows: t.Shape[0], k: t.Shape[1]}
	o.unit = unitOf(o.values)
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
		return operand{}, fmt.Errorf("%s has %d elements: want %d for scaling %s", scale, len(o.scales), want, scaling)
	}
	return o, nil
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }

// unitOf is the largest power of two that every value is a multiple of; 0 where one is not finite, 1 where all are 0.
func unitOf(values []float64) float64 {
	lowest := math.MaxInt
	for _, v := range values {
		if !isFinite(v) {
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

// product is c = (a*scale_a) (b*scale_b)^T.
func (k *call) product(name, aName, aScale, bName, bScale string) (judge.Target, error) {
	scaling := k.Attrs.Text("scaling")
	a, err := k.operand(aName, aScale, scaling, 1)
	if err != nil {
		return judge.Target{}, err
	}
	b, err := k.operand(bName, bScale, scaling, scaleBlock)
	if err != nil {
		return judge.Target{}, err
	}
	if a.k != b.k {
		return judge.Target{}, fmt.Errorf("%s has %d columns and %s has %d: want as many", aName, a.k, bName, b.k)
	}
	d, err := op.ParseDType(k.Attrs.Text("out"))
	if err != nil {
		return judge.Target{}, fmt.Errorf("attribute out: %w", err)
	}
	chosen := k.sample.choose(a.rows)
	c := k.target(name, d, []int64{a.rows, b.rows}, chosen)
	g := gemm{a: a, b: b, rules: k.rules, length: k.rules.SumBlock}
	switch {
	case g.length == 0 && scaling == "block":
		g.length = scaleBlock // another scale begins here: no instruction sums across it
	case g.length == 0:
		g.length = max(a.k, 1)
	}
	g.blocks = ceilDiv(a.k, g.length)
	exact := make([]bool, c.Shape[0])
	if chosen != nil {
		exact = exact[:len(chosen)]
	}
	eachRow(chosen, a.rows, func(i, r int64) { exact[i] = g.row(rowOf(c, i, b.rows), r, d) })
	if k.Distribution == "integers" && allTrue(exact) {
		c = exactly(c)
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

// gemm is one product under a contract: length of K is summed in the tensor core before fp32 takes over, blocks of them.
type gemm struct {
	a, b           operand
	rules          Contract
	length, blocks int64
}

// Largest sums, in units of the operands' common unit, that are exact whatever the order: within a block 13 bits below the largest term
// are kept, across blocks 24.
const (
	exactInBlock = 1 << 14
	exactAcross  = 1 << 24
)

// row fills row r of the product, with the allowance (per element, over promotion blocks b and instructions s of 32 along K)
//
//	T = sum_b s_a*s_b*kappa*2^-13*sum_{s in b} M_s + u32*g(B)*sum_b s_a*s_b*|P_b| + 6*u32*|R|
//
// M_s = max(|S_{s-1}|, |S_s|, max_k |a_k*b_k|): the adder of Hopper's tensor core aligns a step's products and the accumulator to the largest
// and cuts 13 bits below it; S are the partial sums inside the block, P_b its last. It says whether every sum of the row is exact.
func (g gemm) row(out row, r int64, d op.DType) (exact bool) {
	exact = true
	growth := judge.U32 * judge.G(g.blocks)
	for n := range g.b.rows {
		var sum, lost, size, most float64
		smallest := math.Inf(1)
		for block := range g.blocks {
			first, last := block*g.length, min((block+1)*g.length, g.a.k)
			scale := g.a.scale(r, first/scaleBlock) * g.b.scale(n, first/scaleBlock)
			p := g.partial(r, n, first, last)
			sum += float64(scale * p.sum)
			lost += math.Abs(scale) * p.largest
			size += math.Abs(scale * p.sum)
			most += math.Abs(scale) * p.absolute
			if p.absolute > 0 {
				exact = exact && p.absolute < exactInBlock*g.a.unit*g.b.unit
				if exact {
					smallest = math.Min(smallest, unitOf([]float64{scale}))
				}
			}
		}
		out.R[n] = sum
		out.T[n] = lost*g.rules.Kappa*0x1p-13 + growth*size + 6*judge.U32*math.Abs(sum)
		out.TFP32[n] = out.T[n]
		out.Sim[n] = tensor.Round(d, sum, false)
		exact = exact && (most == 0 || most < exactAcross*smallest*g.a.unit*g.b.unit)
	}
	return exact
}

// partialSum is one promotion block of one element.
type partialSum struct{ sum, absolute, largest float64 }

// partial adds a_k*b_k for first <= k < last, with sum_s M_s as largest.
func (g gemm) partial(r, n, first, last int64) partialSum {
	var p partialSum
	for k := first; k < last; k += mmaStep {
		end := min(k+mmaStep, last)
		a, b := g.a.values[r*g.a.k+k:r*g.a.k+end], g.b.values[n*g.b.k+k:n*g.b.k+end]
		b = b[:len(a)]
		step, absolute, largest := 0.0, 0.0, math.Abs(p.sum)
		for i, x := range a {
			product := float64(x * b[i])
			step += product
			size := math.Abs(product)
			absolute += size
			if size > largest {
				largest = size
			}
		}
		p.sum += step
		p.absolute += absolute
		p.largest += math.Max(largest, math.Abs(p.sum))
	}
	return p
}
