package rownorm

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// storage lists the intermediates that a contract lets a kernel store in the dtype of the case.
//
//	sums        with a residual: s, and in the backward the gradient of s before grad_h joins it
//	normalised  without one: xhat, before weight multiplies it. In the backward what autograd makes of that
//	            product in the dtype: the gradient of xhat, wdy = weight*dy, and the terms dy*xhat of the
//	            gradient of weight. xhat itself is kept in fp32 for the gradient of x
//
// The zero value is a kernel that keeps all of them in fp32.
type storage struct {
	sums, normalised bool
	dtype            op.DType
	unit             float64 // roundoff of dtype
	subnormal        float64 // half of its smallest subnormal
}

// storageOf returns the storage that the contract of a request permits. In fp32 xhat is an fp32 value whether
// it is stored or not.
func (o Operator) storageOf(k *truth.Request, d op.DType) storage {
	adds := o.Adds(k.Case)
	if len(k.Rules.Stores) == 0 || !adds && d == op.FP32 {
		return storage{}
	}
	return storage{
		sums: adds, normalised: !adds, dtype: d, unit: truth.Unit(d), subnormal: truth.HalfSubnormal(d),
	}
}

// low reports whether anything may be stored in the dtype.
func (st storage) low() bool { return st.sums || st.normalised }

// off returns the largest distance of a stored value from v; 0 is stored exactly.
func (st storage) off(v float64) float64 {
	if v == 0 {
		return 0
	}
	return st.unit*math.Abs(v) + st.subnormal
}

// storedSums fills to with the values of s under the simulated contract.
func (st storage) storedSums(to, from []float64) []float64 {
	if !st.sums {
		copy(to, from)
		return to
	}
	truth.RoundRow(to, from, st.dtype)
	return to
}

// storedSum is storedSums for one value, and for one of the gradient of s.
func (st storage) storedSum(v float64) float64 { return st.stored(v, st.sums) }

// storedNormal returns an xhat under the simulated contract, or a product with one.
func (st storage) storedNormal(v float64) float64 { return st.stored(v, st.normalised) }

func (st storage) stored(v float64, low bool) float64 {
	if !low {
		return v
	}
	return tensor.Round(st.dtype, v, false)
}

// drift returns the relative error of rstd where every s may be off by d(s): the mean of squares then moves
// by at most mean((2|s| + d)*d), p relative to variance + eps, and 1/sqrt(1-p) - 1 <= p/2*(1+p) for p <= 1/2.
func (st storage) drift(s *moments, x, scratch []float64, eps float64) float64 {
	if !st.sums || math.IsInf(s.variance, 1) {
		return 0
	}
	for i, v := range x {
		d := st.off(v)
		scratch[i] = (2*math.Abs(v) + d) * d
	}
	p := truth.Sum(scratch[:len(x)]) / float64(len(x)) / (s.variance + eps)
	return p / 2 * (1 + p)
}

// moved returns what storing s adds to the error bound of xhat.
func (st storage) moved(s *moments, x, xhat float64, given bool) float64 {
	if !st.sums {
		return 0
	}
	drift := s.drift
	if given {
		drift = 0
	}
	return s.rstd*st.off(x)*(1+drift) + math.Abs(xhat)*drift
}

// scaled returns the error bound of the xhat that is multiplied by weight, or by dy for the gradient of
// weight, due to storing; e is its error bound without.
func (st storage) scaled(s *moments, x, xhat, e float64, given bool) float64 {
	if !st.normalised || xhat == 0 {
		return st.moved(s, x, xhat, given)
	}
	return st.off(math.Abs(xhat) + e)
}

// product returns what storing dy*xhat adds, where xhat may be off by e in all.
func (st storage) product(dy, xhat, e float64) float64 {
	if !st.normalised || xhat == 0 {
		return 0
	}
	return st.off(truth.Weighted(math.Abs(dy), math.Abs(xhat)+e))
}
