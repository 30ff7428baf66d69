package rownorm

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// storage says what a contract lets a kernel store in the dtype of the case before it goes on: s, where it is
// a sum with a residual, and in the backward the gradient of s before grad_h joins it. The zero value is a
// kernel that keeps both in fp32.
type storage struct {
	low       bool
	dtype     op.DType
	unit      float64 // roundoff of dtype
	subnormal float64 // half of its smallest subnormal
}

// storageOf is what the contract of a request permits.
func (o Operator) storageOf(k *truth.Request, d op.DType) storage {
	if len(k.Rules.Stores) == 0 || !o.Adds(k.Case) {
		return storage{}
	}
	return storage{low: true, dtype: d, unit: truth.Unit(d), subnormal: truth.HalfSubnormal(d)}
}

// off is how far a stored value may lie from v; 0 is stored as it is.
func (st storage) off(v float64) float64 {
	if !st.low || v == 0 {
		return 0
	}
	return st.unit*math.Abs(v) + st.subnormal
}

// stored fills to with the values as the simulated contract goes on with them.
func (st storage) stored(to, from []float64) []float64 {
	if !st.low {
		copy(to, from)
		return to
	}
	truth.RoundRow(to, from, st.dtype)
	return to
}

// round is stored of one value.
func (st storage) round(v float64) float64 {
	if !st.low {
		return v
	}
	return tensor.Round(st.dtype, v, false)
}

// drift is the relative error of rstd where every s may be off by d(s): the mean of squares then moves by at
// most mean((2|s| + d)*d), p relative to variance + eps, and 1/sqrt(1-p) - 1 <= p/2*(1+p) for p <= 1/2.
func (st storage) drift(s *moments, x, scratch []float64, eps float64) float64 {
	if !st.low || math.IsInf(s.variance, 1) {
		return 0
	}
	for i, v := range x {
		d := st.off(v)
		scratch[i] = (2*math.Abs(v) + d) * d
	}
	p := truth.Sum(scratch[:len(x)]) / float64(len(x)) / (s.variance + eps)
	return p / 2 * (1 + p)
}

// moved is what storing s adds to the allowance of xhat.
func (st storage) moved(s *moments, x, xhat float64, given bool) float64 {
	if !st.low {
		return 0
	}
	drift := s.drift
	if given {
		drift = 0
	}
	return s.rstd*st.off(x)*(1+drift) + math.Abs(xhat)*drift
}
