package product

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// alignedTerms is the number of terms that a tensor core aligns and cuts at once in 16 bits: 16 products and
// the accumulator.
const alignedTerms = 17

// alignment is the loss of tensor cores to subnormal operands of 16 bits. Their adder aligns the products of
// a step by the exponents that the factors store and cuts below the last bit of the largest. It does not
// normalise a subnormal, which counts as the smallest normal number, so its product with a large factor makes
// the others lose bits, however small it is itself.
type alignment struct {
	smallest float64 // the smallest normal number of the operands; 0 where tensor cores do not read them
	a, b     []bool  // of each row of an operand: it holds a subnormal number
}

func alignmentOf(a, b operand) alignment {
	d := a.matrix.DType
	if d != op.FP16 && d != op.BF16 || b.matrix.DType != d {
		return alignment{}
	}
	format, _ := tensor.FormatOf(d)
	x := alignment{smallest: math.Ldexp(1, format.EMin)}
	x.a, x.b = x.subnormalRows(a), x.subnormalRows(b)
	return x
}

// subnormal reports whether tensor cores align v by a larger number than itself.
func (x alignment) subnormal(v float64) bool { return v != 0 && math.Abs(v) < x.smallest }

// aligned returns the magnitude that tensor cores align v by.
func (x alignment) aligned(v float64) float64 {
	if x.subnormal(v) {
		return x.smallest
	}
	return math.Abs(v)
}

func (x alignment) subnormalRows(o operand) []bool {
	rows := make([]bool, o.all())
	row := make([]float64, o.k)
	for r := range rows {
		o.matrix.DecodeRow(row, int64(r), 0)
		for _, v := range row {
			if x.subnormal(v) {
				rows[r] = true
				break
			}
		}
	}
	return rows
}

// lost returns the loss of the sum of the products of row r of the first operand and row n of the second, in
// addition to the rounding of its own terms:
//
//	17*u32*sum |a_k|*|b_k| over the k with a subnormal factor, which counts as the smallest normal number
//
// A step is aligned by at most the largest of them, so the sum holds for any grouping of products in a
// kernel.
func (x alignment) lost(a, b []float64, r, n int64) float64 {
	if x.smallest == 0 || !x.a[r] && !x.b[n] {
		return 0
	}
	sum := 0.0
	for k, v := range a {
		w := b[k]
		if v != 0 && w != 0 && (x.subnormal(v) || x.subnormal(w)) {
			sum += x.aligned(v) * x.aligned(w)
		}
	}
	return alignedTerms * judge.U32 * sum
}

// countLows adds a column's values from first on along k to the inputs of signedLoss.
func (x alignment) countLows(m signedMatrix, values []float64, first int64) {
	if x.smallest == 0 {
		return
	}
	for i, v := range values {
		m.aligned[first+int64(i)] += x.aligned(v)
		if x.subnormal(v) {
			m.lows[first+int64(i)]++
		}
	}
}

// signedLoss returns an upper bound for the sum of lost over the covered columns of a matrix.
func (x alignment) signedLoss(a []float64, b signedMatrix) float64 {
	if x.smallest == 0 {
		return 0
	}
	sum := 0.0
	for k, v := range a {
		if x.subnormal(v) {
			sum += x.smallest * b.aligned[k]
		} else {
			sum += math.Abs(v) * x.smallest * b.lows[k]
		}
	}
	return alignedTerms * judge.U32 * sum
}
