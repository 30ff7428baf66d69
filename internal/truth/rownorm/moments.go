package rownorm

import (
	"math"

	"triad/internal/judge"
	"triad/internal/truth"
)

// moments are the statistics of one row, with the inputs of their error bounds.
type moments struct {
	// variance divides by the number of columns; mean is 0 where none is subtracted
	mean, variance, rstd float64
	meanAbs              float64 // mean of |s|, which scales the error of the mean; 0 without a mean
	rho                  float64 // relative error of the variance, see momentsOf
	drift                float64 // relative error of rstd where s is stored in the dtype, see storage
	g                    float64 // growth of errors in a sum over the row
	tiny                 float64 // largest loss of a product of an element below fp32's normal range
}

// momentsOf computes the exact statistics of a row. The variance of two passes is off by g(n) roundoffs and
// by the squared error of the mean. Welford's recurrence multiplies differences from a running mean that was
// rounded: its errors, of a roundoff of the mean each, add up like a random walk, to sum_k d_k*(e_{k-1} +
// e_k) with e_k = sum_j j*delta_j/k, whose standard deviation is sqrt(2/3)*n*sigma*u32*|mean|; 8 of these
// never occur by chance. rho is all that relative to variance + eps:
//
//	rho = (2*g(n)*u32*v + 8*u32*mean|x|*sqrt(v) + 2*(u32*g(n)*mean|x|)^2) / (v+eps)
//
// The last term stays where the variance is 0: two passes over a constant row leave the squared error of the
// mean as its variance. Without a mean there is only the first term.
func (o Operator) momentsOf(x, scratch []float64, eps, g float64) moments {
	n := float64(len(x))
	s := moments{g: g}
	if o.Centred {
		s.mean = truth.Sum(x) / n
		s.meanAbs = truth.Sum(truth.Absolutes(scratch, x)) / n
	}
	for i, v := range x {
		scratch[i] = (v - s.mean) * (v - s.mean)
	}
	s.variance = truth.Sum(scratch[:len(x)]) / n
	s.rstd = 1 / math.Sqrt(s.variance+eps)
	total := s.variance + eps
	s.tiny = o.underflow(s.rstd)
	if math.IsInf(total, 1) { // rstd is exactly 0
		s.rho = 2 * g * judge.U32
		return s
	}
	shift := judge.U32 * g * s.meanAbs
	s.rho = (2*g*judge.U32*s.variance + 8*judge.U32*s.meanAbs*math.Sqrt(s.variance) + 2*shift*shift) / total
	return s
}

// underflow returns the largest loss of a product with an element of s below fp32's normal range: half of the
// smallest subnormal, which rstd may still multiply. With a mean nothing is that small next to the terms of
// the mean.
func (o Operator) underflow(rstd float64) float64 {
	if o.Centred {
		return 0
	}
	return truth.Subnormal * math.Max(1, rstd)
}

// rootError is the largest error of the last steps to rstd, in roundoffs: 4 for a root and reciprocal
// accurate to 2^-22, 1 for the division by cols and the sum with eps.
const rootError = 5

// normalized returns xhat = (x-mean)*rstd with its error bound in fp32, chained from x itself:
//
//	e = rstd*(2*u32*|x-mean| + u32*g(n)*mean|x|) + |xhat|*(rho/2 + 6*u32)
//
// Where mean and rstd were given, the terms of their errors drop out. Without a mean the first term is that
// of the sum of x and a residual, and e has a term for underflow.
func (s *moments) normalized(x float64, given bool) (xhat, e float64) {
	xhat = (x - s.mean) * s.rstd
	e = s.rstd*2*judge.U32*math.Abs(x-s.mean) + 6*judge.U32*math.Abs(xhat)
	if x != 0 {
		e += s.tiny
	}
	if !given {
		e += s.rstd*judge.U32*s.g*s.meanAbs + math.Abs(xhat)*s.rho/2
	}
	return xhat, e
}

// relative returns the largest error of multiplying by rstd, relative to the product.
func (s *moments) relative() float64 { return math.Max(judge.U32*s.g, s.rho/2) + 8*judge.U32 }
