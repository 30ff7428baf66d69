// Package bounded computes with rows of numbers that a kernel computes from each other. For each element it
// holds the truth, the error bound for rounding under the contract and in fp32 alone, and the result of the
// simulated contract. An operator whose results go through several products and functions composes its
// error bounds of these forms, as the kernel composes its steps.
package bounded

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// Rules are the rounding rules of a contract.
type Rules struct {
	d        op.DType
	low      bool    // intermediates may be stored in d
	unit     float64 // roundoff of d
	lost     float64 // loss below its numbers
	smallest float64 // normal number in 16 bits, which tensor cores align subnormals by; else 0
	growth   func(n int64) float64
}

// RulesOf returns the rules of a request whose inputs have a dtype.
func RulesOf(k *truth.Request, d op.DType) *Rules {
	r := &Rules{d: d, low: k.Rules.Name == "stored" && d != op.FP32, growth: k.Growth}
	if d == op.FP32 {
		return r
	}
	format, _ := tensor.FormatOf(d)
	r.unit, r.smallest = truth.Unit(d), math.Ldexp(1, format.EMin)
	r.lost = math.Max(truth.HalfSubnormal(d), judge.Tiny)
	return r
}

// tensorCoreTerms is the largest loss of a tensor core in a product with a subnormal factor, in units of
// 2^-24 of the product with the smallest normal number in its place.
const tensorCoreTerms = 17

// Sum returns the largest error of a sum of n terms in fp32, relative to the sum of their magnitudes.
func (r *Rules) Sum(n int64) float64 {
	g := r.growth(n)
	if r.smallest > 0 {
		g = math.Max(g, tensorCoreTerms)
	}
	return judge.U32 * g
}

// Size returns the magnitude that products are aligned by.
func (r *Rules) Size(x float64) float64 {
	if x = math.Abs(x); x != 0 && x < r.smallest {
		return r.smallest
	}
	return x
}

// Number is one element.
type Number struct{ R, T, TFP32, Sim float64 }

// At returns element i of a row.
func At(v truth.Row, i int) Number { return Number{v.R[i], v.T[i], v.TFP32[i], v.Sim[i]} }

// Set sets element i of a row.
func Set(v truth.Row, i int, x Number) {
	v.R[i], v.T[i], v.TFP32[i], v.Sim[i] = x.R, x.T, x.TFP32, x.Sim
}

// Exactly returns a number that nothing has rounded.
func Exactly(x float64) Number { return Number{R: x, Sim: x} }

// InFP32 returns a number with the rounding of fp32 only.
func InFP32(x, t float64) Number { return Number{x, t, t, x} }

// Stores reports whether intermediates may be stored in the dtype of the case.
func (r *Rules) Stores() bool { return r.low }

// Row returns a row of n zeros. Where nothing is stored low the error bounds are one, and so are truth and
// simulation.
func (r *Rules) Row(n int64) truth.Row {
	v := truth.Row{R: make([]float64, n), T: make([]float64, n)}
	v.TFP32, v.Sim = v.T, v.R
	if r.low {
		v.TFP32, v.Sim = make([]float64, n), make([]float64, n)
	}
	return v
}

// Given returns a row of an input.
func Given(x []float64) truth.Row {
	zeros := make([]float64, len(x))
	return truth.Row{R: x, T: zeros, TFP32: zeros, Sim: x}
}

// Product returns a*b in fp32.
func Product(a, b Number) Number {
	x, y := math.Abs(a.R), math.Abs(b.R)
	p := Number{R: a.R * b.R, Sim: a.Sim * b.Sim}
	if x+a.T == 0 || y+b.T == 0 {
		return p
	}
	off := func(s, t float64) float64 {
		return x*t + y*s + s*t + judge.U32*(x+s)*(y+t) + (1+x+y)*truth.Subnormal
	}
	p.T, p.TFP32 = off(a.T, b.T), off(a.TFP32, b.TFP32)
	return p
}

// Minus returns a-b in fp32.
func Minus(a, b Number) Number {
	size := judge.U32 * (math.Abs(a.R) + math.Abs(b.R))
	return Number{a.R - b.R, a.T + b.T + size, a.TFP32 + b.TFP32 + size, a.Sim - b.Sim}
}

// Scaled returns every element of a row times a number.
func (r *Rules) Scaled(by Number, v truth.Row) truth.Row {
	return r.Each(int64(len(v.R)), func(i int) Number { return Product(by, At(v, i)) })
}

// Each returns a row of computed elements.
func (r *Rules) Each(n int64, of func(i int) Number) truth.Row {
	out := r.Row(n)
	for i := range out.R {
		Set(out, i, of(i))
	}
	return out
}

// Store rounds a row to the dtype, where the contract allows a kernel to store it so.
func (r *Rules) Store(v truth.Row) truth.Row {
	if !r.low {
		return v
	}
	for i, x := range v.R {
		if x != 0 || v.T[i] != 0 {
			v.T[i] += r.unit*(math.Abs(x)+v.T[i]) + r.lost
		}
	}
	truth.RoundRow(v.Sim, v.Sim, r.d)
	return v
}

// Add adds by*v to a sum in fp32 that has n terms.
func (r *Rules) Add(sum truth.Row, n int64, by Number, v truth.Row) {
	unit, size := r.Sum(n), r.Size(by.R)
	if by.R == 0 && by.T == 0 {
		size = 0
	}
	for i, x := range v.R {
		sum.R[i] += float64(by.R * x)
		if other := r.Size(x); size+by.T > 0 && other+v.T[i] > 0 {
			sum.T[i] += size*v.T[i] + by.T*(other+v.T[i]) + unit*(size+by.T)*(other+v.T[i]) + truth.Subnormal
			if r.low {
				sum.TFP32[i] += size*v.TFP32[i] + by.TFP32*(other+v.TFP32[i]) +
					unit*(size+by.TFP32)*(other+v.TFP32[i]) + truth.Subnormal
			}
		}
	}
	if r.low {
		truth.Axpy(sum.Sim, by.Sim, v.Sim)
	}
}

// Matrix is an input with rows and columns, with the magnitudes that products are aligned by.
type Matrix struct {
	values, sizes []float64
	cols          int64
}

// MatrixOf returns a tensor as rows of its last dim.
func (r *Rules) MatrixOf(t tensor.Tensor) Matrix {
	m := Matrix{values: t.Float64s(), cols: t.Shape[len(t.Shape)-1]}
	m.sizes = m.values // the products take magnitudes
	for i, x := range m.values {
		if size := r.Size(x); size == r.smallest && math.Abs(x) != size {
			if &m.sizes[0] == &m.values[0] {
				m.sizes = append([]float64(nil), m.values...)
			}
			m.sizes[i] = size
		}
	}
	return m
}

// Row returns row i.
func (m Matrix) Row(i int64) []float64 { return m.values[i*m.cols : (i+1)*m.cols] }

// Part returns a number of rows from first on.
func (m Matrix) Part(first, rows int64) Matrix {
	a, b := first*m.cols, (first+rows)*m.cols
	return Matrix{m.values[a:b], m.sizes[a:b], m.cols}
}

// losses returns the largest error of each term of a sum of products with exact factors, per unit of its
// factor's magnitude.
func (r *Rules) losses(v truth.Row) (t, tFP32 []float64) {
	unit := r.Sum(int64(len(v.R)))
	of := func(off []float64) []float64 {
		out := make([]float64, len(off))
		for i, x := range off {
			out[i] = x + unit*(r.Size(v.R[i])+x)
		}
		return out
	}
	if t = of(v.T); r.low {
		return t, of(v.TFP32)
	}
	return t, t
}

// Times returns a row of n elements times a matrix of n rows.
func (r *Rules) Times(v truth.Row, m Matrix) truth.Row {
	out := r.Row(m.cols)
	t, tFP32 := r.losses(v)
	for i, x := range v.R {
		row, sizes := m.Row(int64(i)), m.sizes[int64(i)*m.cols:int64(i+1)*m.cols]
		truth.Axpy(out.R, x, row)
		truth.AxpyAbs(out.T, t[i], sizes)
		if r.low {
			truth.Axpy(out.Sim, v.Sim[i], row)
			truth.AxpyAbs(out.TFP32, tFP32[i], sizes)
		}
	}
	return r.withSubnormals(out, int64(len(v.R)))
}

// TimesRows returns a row of n elements times every row of a matrix of n columns.
func (r *Rules) TimesRows(v truth.Row, m Matrix) truth.Row {
	rows := int64(0)
	if m.cols > 0 {
		rows = int64(len(m.values)) / m.cols
	}
	out := r.Row(rows)
	t, tFP32 := r.losses(v)
	for i := range rows {
		row, sizes := m.Row(i), m.sizes[i*m.cols:(i+1)*m.cols]
		out.R[i], _ = truth.Dots(v.R, row)
		_, out.T[i] = truth.Dots(t, sizes)
		if r.low {
			out.Sim[i], _ = truth.Dots(v.Sim, row)
			_, out.TFP32[i] = truth.Dots(tFP32, sizes)
		}
	}
	return r.withSubnormals(out, m.cols)
}

// withSubnormals adds the loss of n products below fp32's normal range, where any of them is not 0.
func (r *Rules) withSubnormals(v truth.Row, n int64) truth.Row {
	for i, t := range v.T {
		if t > 0 {
			v.T[i] += float64(n) * truth.Subnormal
			if r.low {
				v.TFP32[i] += float64(n) * truth.Subnormal
			}
		}
	}
	return v
}

// Fill copies a row into the judged one, with the simulation rounded to its dtype.
func Fill(out, v truth.Row, d op.DType) {
	copy(out.R, v.R)
	copy(out.T, v.T)
	copy(out.TFP32, v.TFP32)
	truth.RoundRow(out.Sim, v.Sim, d)
}
