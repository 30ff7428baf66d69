package product

import (
	"math"
	"slices"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Numbers are an operand of products: the values, their magnitudes, and those that tensor cores align
// products by, where a subnormal of 16 bits counts as the smallest normal number. normal has 0 instead. Both
// are nil in an operand without subnormals, where they are the magnitudes.
type Numbers struct{ Values, sizes, aligned, normal []float64 }

// NumbersOf decodes a tensor.
func NumbersOf(t tensor.Tensor) Numbers {
	f := Numbers{Values: t.Float64s()}
	f.sizes = truth.Absolutes(make([]float64, len(f.Values)), f.Values)
	if t.DType != op.FP16 && t.DType != op.BF16 {
		return f
	}
	format, _ := tensor.FormatOf(t.DType)
	smallest := math.Ldexp(1, format.EMin)
	for i, v := range f.sizes {
		if v == 0 || v >= smallest {
			continue
		}
		if f.aligned == nil {
			f.aligned, f.normal = slices.Clone(f.sizes), slices.Clone(f.sizes)
		}
		f.aligned[i], f.normal[i] = smallest, 0
	}
	return f
}

// Ones returns the factor of a plain sum.
func Ones(n int) Numbers {
	ones := slices.Repeat([]float64{1}, n)
	return Numbers{Values: ones, sizes: ones}
}

// orSizes returns x, or the magnitudes where x is nil.
func (f Numbers) orSizes(x []float64) []float64 {
	if x == nil {
		return f.sizes
	}
	return x
}

// Rows is an output whose elements are sums of products of two operands but no matrix product, such as a
// convolution.
type Rows struct {
	A, B  Numbers
	Terms int64
	// Add adds the products of a row of the output to out, which begins at 0, from the values of A and B or
	// from numbers in their place.
	Add    func(out, a, b []float64, row int64)
	Addend func(row int64) float64 // one more term of every element of the row; nil: none
}

// Target computes the judged rows, with K terms and
//
//	T = u32*g(K)*sum|a*b| + K*the smallest subnormal
//
// the addend being one of the terms. In 16 bits 17*u32*sum |a|*|b| of the products with a subnormal factor,
// which counts as the smallest normal number, is added: the loss of tensor cores to it. Sums of integers that
// fp32 represents exactly must be exact.
func (s Rows) Target(k *truth.Request, name string, d op.DType, shape []int64) judge.Target {
	cols, rows := shape[len(shape)-1], int64(1)
	for _, n := range shape[:len(shape)-1] {
		rows *= n
	}
	chosen := k.Sample.Choose(rows)
	t := k.RowTargetInFP32(name, d, shape, chosen)
	exact := k.Distribution == "integers" && whole(s.A.Values) && whole(s.B.Values)
	unit := judge.U32 * k.Growth(s.Terms)
	memory := func() []float64 { return make([]float64, cols) }
	truth.FillRows(k, t, chosen, memory, func(own []float64, _, r int64, out truth.Row) {
		clear(out.R)
		clear(out.T)
		s.Add(out.R, s.A.Values, s.B.Values, r)
		s.Add(out.T, s.A.sizes, s.B.sizes, r)
		areIntegers := exact
		if s.Addend != nil {
			v := s.Addend(r)
			areIntegers = areIntegers && v == math.Trunc(v)
			for i := range out.R {
				out.R[i] += v
				out.T[i] += math.Abs(v)
			}
		}
		for i, size := range out.T {
			if out.T[i] = 0; size > 0 && !(areIntegers && size <= exactSum) {
				out.T[i] = unit*size + float64(s.Terms)*truth.Subnormal
			}
		}
		s.addLost(own, out.T, r)
		truth.RoundRow(out.Sim, out.R, d)
	})
	return t
}

// addLost adds the loss of tensor cores to subnormal factors.
func (s Rows) addLost(own, errorBound []float64, row int64) {
	if s.A.aligned == nil && s.B.aligned == nil {
		return
	}
	before := slices.Clone(errorBound)
	clear(own)
	s.Add(own, s.A.orSizes(s.A.aligned), s.B.orSizes(s.B.aligned), row)
	truth.Axpy(errorBound, alignedTerms*judge.U32, own)
	clear(own)
	s.Add(own, s.A.orSizes(s.A.normal), s.B.orSizes(s.B.normal), row)
	truth.Axpy(errorBound, -alignedTerms*judge.U32, own)
	for i, v := range errorBound {
		errorBound[i] = math.Max(before[i], v) // a difference of sums may be off by a roundoff
	}
}

func whole(x []float64) bool {
	return !slices.ContainsFunc(x, func(v float64) bool { return v != math.Trunc(v) })
}
