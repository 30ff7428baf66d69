package truthtest

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// F32 rounds an emulated intermediate to fp32.
func F32(x float64) float64 { return float64(float32(x)) }

// The orders of Sum32.
const (
	InSequence = iota
	InLanes    // 32 partial sums, then a tree, as a warp does
	inPairs
	inBlocks // of 128, one after the other
)

// Sum32 adds in fp32, in one of the orders above.
func Sum32(order int, n int, f func(i int) float64) float64 {
	switch order {
	case InSequence:
		s := float32(0)
		for i := range n {
			s += float32(f(i))
		}
		return float64(s)
	case InLanes:
		var lanes [32]float32
		for i := range n {
			lanes[i%32] += float32(f(i))
		}
		for w := 16; w > 0; w /= 2 {
			for i := range w {
				lanes[i] += lanes[i+w]
			}
		}
		return float64(lanes[0])
	case inBlocks:
		s := float32(0)
		for first := 0; first < n; first += 128 {
			s += float32(Sum32(InSequence, min(128, n-first), func(i int) float64 { return f(first + i) }))
		}
		return float64(s)
	}
	var pairwise func(a, b int) float32
	pairwise = func(a, b int) float32 {
		if b-a == 1 {
			return float32(f(a))
		}
		return pairwise(a, (a+b)/2) + pairwise((a+b)/2, b)
	}
	if n == 0 {
		return 0
	}
	return float64(pairwise(0, n))
}

// SumLow adds in sequence in an accumulator of low precision.
func SumLow(d op.DType, n int, f func(i int) float64) float64 {
	s := 0.0
	for i := range n {
		s = tensor.Round(d, s+f(i), false)
	}
	return s
}

// Arithmetic selects the arithmetic of an emulated kernel.
type Arithmetic struct {
	Order int    // of its sums
	Noisy bool   // exp, reciprocals and roots are off by up to 2^-22, as the fast functions of a GPU are
	Block int    // how much it takes at once, where that matters
	Other bool   // the other common way to write the same formula
	LowP  bool   // attention: P and dS stored in the dtype, as the contract allows
	Form  int    // which of the forms that an elementwise operator states
	Fused bool   // a*b + c is rounded once, as compilers contract it
	Bug   string // the planted bug; "" is the right kernel
}

// Fast returns the result of a fast function, in fp32. The noise depends on the value alone.
func (a Arithmetic) Fast(x float64) float64 {
	if a.Noisy {
		h := math.Float64bits(x) * 0x9E3779B97F4A7C15
		x *= 1 + (float64(h>>11)*0x1p-52-1)*0x1p-22
	}
	return F32(x)
}

// Exp returns e^x by the exponential of base 2, as a GPU computes it.
func (a Arithmetic) Exp(x float64) float64 { return a.Fast(math.Exp2(F32(x * math.Log2E))) }

// Sum adds in the kernel's order.
func (a Arithmetic) Sum(n int, f func(i int) float64) float64 { return Sum32(a.Order, n, f) }

// Unwritten represents an element that a kernel leaves unchanged.
var Unwritten = math.Float64frombits(0x7ff8_0000_dead_beef)

func isUnwritten(x float64) bool { return math.Float64bits(x) == math.Float64bits(Unwritten) }

// LeaveTail marks the last columns of every row as unwritten: those that a kernel forgets that takes columns
// by 16.
func LeaveTail(y []float64, rows, cols int) {
	for r := range rows {
		for c := cols / Vector * Vector; c < cols; c++ {
			y[r*cols+c] = Unwritten
		}
	}
}

// Vector and warp are the numbers of columns that an emulated kernel takes at once.
const (
	Vector = 16
	Warp   = 32
)

// RoundedTo returns values rounded to a dtype.
func RoundedTo(d op.DType, x []float64) []float64 {
	y := make([]float64, len(x))
	truth.RoundRow(y, x, d)
	return y
}

// partialRows is the number of rows in one partial sum of grad_weight and grad_bias.
const partialRows = 16

// OverRows sums over the rows in two stages: blocks of rows, then the partial sums.
func (a Arithmetic) OverRows(rows int, lost bool, low op.DType, f func(r int) float64) float64 {
	if a.Bug == "sums over rows in a low-precision accumulator" {
		return SumLow(low, rows, f)
	}
	blocks := (rows + partialRows - 1) / partialRows
	if a.Bug == "last row block dropped" {
		blocks--
	}
	return a.Sum(max(blocks, 0), func(b int) float64 {
		first, n := b*partialRows, min(partialRows, rows-b*partialRows)
		sum := a.Sum(n, func(i int) float64 { return f(first + i) })
		switch {
		case a.Bug == "partial sums in bf16":
			return tensor.Round(op.BF16, sum, false)
		case lost && b == 0:
			return 0
		}
		return sum
	})
}

// RowVariants are the orders of sums of a right row kernel, and one with fast functions.
var RowVariants = []Arithmetic{
	{Order: InLanes},
	{Order: InSequence},
	{Order: inPairs},
	{Order: inBlocks},
	{Order: InLanes, Noisy: true},
}

// Softmax32 computes softmax as a kernel does, all in fp32.
func Softmax32(order int, x []float64) []float64 {
	m := math.Inf(-1)
	for _, v := range x {
		m = math.Max(m, v)
	}
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = F32(math.Exp2(F32(F32(v-m) * F32(math.Log2E))))
	}
	inverse := F32(1 / Sum32(order, len(y), func(i int) float64 { return y[i] }))
	for i := range y {
		y[i] = F32(y[i] * inverse)
	}
	return y
}

// ByRows applies a row function to a matrix.
func ByRows(rows, cols int64, f func(r int64) []float64) []float64 {
	var out []float64
	for r := range rows {
		out = append(out, f(r)...)
	}
	return out
}
