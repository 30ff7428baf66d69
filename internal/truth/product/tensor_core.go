package product

import (
	"math"

	"triad/internal/judge"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// mmaStep is the number of terms along k that one tensor-core instruction adds at once on Hopper (32 fp8
// numbers).
const mmaStep = 32

// Largest sums, in units of the operands' common unit, that are exact in any order: within a block 13 bits
// below the largest term are kept, across blocks 24.
const (
	exactInBlock = 1 << 14
	exactAcross  = 1 << 24
)

// tensorCore is the arithmetic of Hopper's tensor cores on fp8: they sum length terms along k before fp32
// takes over, in blocks such runs.
type tensorCore struct {
	a, b           operand
	kappa          float64
	length, blocks int64
	scaleBlock     int64 // of k
}

func tensorCoreOf(k *truth.Request, scaling Scaling, a, b operand) *tensorCore {
	g := &tensorCore{a: a, b: b, kappa: k.Rules.Kappa, length: k.Rules.SumBlock, scaleBlock: scaling.Block}
	switch {
	case g.length == 0 && a.along+b.along > 0:
		g.length = scaling.Block // another scale begins here: no instruction sums across it
	case g.length == 0:
		g.length = max(a.k, 1)
	}
	g.blocks = ceilDiv(a.k, g.length)
	return g
}

func (g *tensorCore) seesMore() bool { return true }

func (g *tensorCore) lowered() bool { return false }

func (g *tensorCore) unread() []int64 { return nil }

// see fills in the magnitudes by which Hopper's adder aligns products. It does not normalise a subnormal,
// which counts as the smallest normal number of its format, while a zero makes no product.
func (g *tensorCore) see(o operand, f factors) {
	format, _ := tensor.FormatOf(o.matrix.DType)
	smallest := math.Ldexp(1, format.EMin)
	for i, v := range f.values {
		if f.seen[i] = math.Abs(v); v != 0 {
			f.seen[i] = max(f.seen[i], smallest)
		}
	}
}

// element returns element (r, n) of the product, of decoded rows a and b, with the error bound (over
// promotion blocks b and instructions s of 32 along K)
//
//	T = sum_b s_a*s_b*kappa*2^-13*sum_{s in b} M_s + u32*g(B)*sum_b s_a*s_b*|P_b| + 6*u32*|R|
//
// M_s = max(|S_{s-1}|, |S_s|, max_k |a_k*b_k|) with a subnormal factor counted as the smallest normal number:
// the adder of Hopper's tensor core aligns a step's products, by the exponents that their factors store, and
// the accumulator to the largest and cuts 13 bits below it; S are the partial sums inside the block, P_b its
// last.
func (g *tensorCore) element(a, b factors, r, n int64) element {
	var value, lost, size float64
	for block := range g.blocks {
		first, last := block*g.length, min((block+1)*g.length, g.a.k)
		scale := g.a.scale(r, first/g.scaleBlock) * g.b.scale(n, first/g.scaleBlock)
		sum, largest := blockSum(a.part(first, last), b.part(first, last))
		value += float64(scale * sum)
		lost += math.Abs(scale) * largest
		size += math.Abs(scale * sum)
	}
	t := lost*g.kappa*0x1p-13 + judge.U32*judge.G(g.blocks)*size + 6*judge.U32*math.Abs(value)
	return element{r: value, t: t, tFP32: t, sim: value}
}

// exact checks within a block and across blocks.
func (g *tensorCore) exact(a, b factors, r, n int64) bool {
	most, smallest := 0.0, math.Inf(1)
	for block := range g.blocks {
		first, last := block*g.length, min((block+1)*g.length, g.a.k)
		scale := g.a.scale(r, first/g.scaleBlock) * g.b.scale(n, first/g.scaleBlock)
		_, absolute := truth.Dots(a.seen[first:last], b.seen[first:last])
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
	x, y, ax, ay := a.values, b.values[:n], a.seen[:n], b.seen[:n]
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
