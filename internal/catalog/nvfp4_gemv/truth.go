// Package nvfp4gemv is the truth of a product of a matrix and a vector of fp4 numbers with scales.
package nvfp4gemv

import (
	"fmt"
	"math"
	"sync/atomic"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Register("nvfp4_gemv", truth.Definition{Forward: forward, Permits: []string{"fp32"}})

// group is the number of elements that share a scale, and groupBytes their size in bytes.
const group, groupBytes = 16, 8

// forward computes y = alpha * sum (a*scale_a) * (x*scale_x) row by row, with the error bound
//
//	T = (g(k) + 2) * u32 * |alpha| * sum |a*scale_a*x*scale_x| + k * the smallest subnormal
//
// A product of two fp4 numbers and their two scales has 12 significant bits, so it is exact in fp32: the
// losses are those of the sums, alpha, and one more product where alpha is part of a scale. Numbers of a
// power of two whose sums are exact in fp32 must be exact.
func forward(k *truth.Request) ([]judge.Target, error) {
	a, errA := k.Rank("a", 2)
	scaleA, errScale := k.Rank("scale_a", 2)
	x, errX := dequantized(k, "x", "scale_x")
	if err := truth.FirstError(errA, errScale, errX); err != nil {
		return nil, err
	}
	m, bytes := a.Shape[0], a.Shape[1]
	if int64(len(x)) != 2*bytes || scaleA.Shape[0] != m || scaleA.Shape[1]*groupBytes != bytes {
		return nil, fmt.Errorf("a has shape %v, scale_a %v, x %d numbers: want k/2 columns, k/16, and k",
			a.Shape, scaleA.Shape, len(x))
	}
	alpha, unit := k.Attrs.Number("alpha"), judge.U32*(k.Growth(2*bytes)+2)
	fraction, _ := math.Frexp(alpha)
	var rounded atomic.Bool // a sum is larger than fp32 is sure to hold
	chosen := k.Sample.Choose(m)
	y := k.Target("y", op.FP16, []int64{m, 1}, chosen)
	y.Shape = []int64{m}
	memory := func() [][]float64 {
		return [][]float64{make([]float64, bytes), make([]float64, bytes/groupBytes)}
	}
	truth.EachRowWith(chosen, m, memory, func(own [][]float64, i, r int64) {
		codes, scales := own[0], own[1]
		a.DecodeRow(codes, r, 0)
		scaleA.DecodeRow(scales, r, 0)
		sum, size := products(codes, scales, x)
		errorBound := 0.0
		if !(fraction == 0.5 && size <= exactSum) {
			rounded.Store(true)
		}
		if size > 0 {
			errorBound = math.Abs(alpha)*unit*size + float64(2*bytes)*truth.Subnormal
		}
		truth.SetOne(y, i, alpha*sum, errorBound)
	})
	if k.Distribution == "integers" && !rounded.Load() {
		y = truth.Exactly(y)
	}
	return []judge.Target{y}, nil
}

// exactSum bounds the sums that fp32 holds exactly where numbers are integers and scales are at least 1/4.
const exactSum = 1 << 20

// products adds up a row's products with x, and their magnitudes.
func products(codes, scales, x []float64) (sum, size float64) {
	for g, scale := range scales {
		part, parts := 0.0, 0.0
		for j := g * groupBytes; j < (g+1)*groupBytes; j++ {
			pair := &numbers[int(codes[j])]
			first, second := pair[0]*x[2*j], pair[1]*x[2*j+1]
			part += first + second
			parts += math.Abs(first) + math.Abs(second)
		}
		sum, size = sum+scale*part, size+math.Abs(scale)*parts
	}
	return sum, size
}

// numbers holds the two numbers of every byte, the low half first.
var numbers = func() (all [256][2]float64) {
	for code := range all {
		copy(all[code][:], tensor.DecodeE2M1([]byte{byte(code)}, 2))
	}
	return all
}()

// dequantized returns a vector's numbers times their scales.
func dequantized(k *truth.Request, name, scale string) ([]float64, error) {
	t, errT := k.Rank(name, 1)
	scales, errScale := k.Rank(scale, 1)
	if err := truth.FirstError(errT, errScale); err != nil {
		return nil, err
	}
	if scales.Shape[0]*groupBytes != t.Shape[0] {
		return nil, fmt.Errorf("%s has %d bytes and %s %d numbers: want one for %d bytes", name, t.Shape[0],
			scale, scales.Shape[0], groupBytes)
	}
	values, factors := make([]float64, 0, 2*t.Shape[0]), scales.Float64s()
	for i, code := range t.Float64s() {
		pair, factor := numbers[int(code)], factors[i/groupBytes]
		values = append(values, pair[0]*factor, pair[1]*factor)
	}
	return values, nil
}
