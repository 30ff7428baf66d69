package truth

import (
	"math"
)

// Dots returns x.y and |x|.|y|.
func Dots(x, y []float64) (dot, abs float64) {
	y = y[:len(x)]
	var dot1, abs1 float64
	n := len(x) &^ 1
	for i := 0; i < n; i += 2 {
		p, p1 := float64(x[i]*y[i]), float64(x[i+1]*y[i+1])
		dot += p
		dot1 += p1
		abs += math.Abs(p)
		abs1 += math.Abs(p1)
	}
	if n < len(x) {
		p := float64(x[n] * y[n])
		dot += p
		abs += math.Abs(p)
	}
	return dot + dot1, abs + abs1
}

// Axpy adds w*x to out.
func Axpy(out []float64, w float64, x []float64) {
	x = x[:len(out)]
	for i := range out {
		out[i] += float64(w * x[i])
	}
}

// AxpyAbs adds w*|x| to out.
func AxpyAbs(out []float64, w float64, x []float64) {
	x = x[:len(out)]
	for i := range out {
		out[i] += float64(w * math.Abs(x[i]))
	}
}

// Sum adds pairwise, as SumOf does.
func Sum(x []float64) float64 {
	if len(x) > 64 {
		mid := len(x) / 2
		return Sum(x[:mid]) + Sum(x[mid:])
	}
	s := 0.0
	for _, v := range x {
		s += v
	}
	return s
}

// Products fills z with x*y.
func Products(z, x, y []float64) []float64 {
	x, y = x[:len(z)], y[:len(z)]
	for i := range z {
		z[i] = x[i] * y[i]
	}
	return z
}

// Absolutes fills z with |x|.
func Absolutes(z, x []float64) []float64 {
	x = x[:len(z)]
	for i := range z {
		z[i] = math.Abs(x[i])
	}
	return z
}

// AllZero reports whether every value is 0.
func AllZero(x []float64) bool {
	for _, v := range x {
		if v != 0 {
			return false
		}
	}
	return true
}

// LargestReal returns the largest real part, as a constant.
func LargestReal(x []complex128) complex128 {
	m := 0.0
	for i, v := range x {
		if i == 0 || real(v) > m {
			m = real(v)
		}
	}
	return complex(m, 0)
}

// Weighted returns weight*factor, and 0 for a weight of exactly 0 even if the factor is infinite: a term that
// does not contribute must not loosen T.
func Weighted(weight, factor float64) float64 {
	if weight == 0 {
		return 0
	}
	return weight * factor
}

// lowestLog is the logarithm of the smallest number that fp64 holds.
const lowestLog = -745.2

// Revived returns the largest value that an error of shift in the exponent may cause in a weight p =
// exp(logP) <= 1 that is 0 because its logarithm lies below fp64's range; 0 for any other. A weight whose
// logarithm is -infinity stays 0.
func Revived(p, logP, shift float64) float64 {
	if p != 0 || math.IsInf(logP, -1) || logP+shift < lowestLog {
		return 0
	}
	return math.Exp(math.Min(logP+shift, 0))
}

// SumOf adds f(0) ... f(n-1) pairwise, so that the error grows with log n only and the order never depends on
// the machine.
func SumOf(n int, f func(i int) float64) float64 { return sumBetween(0, n, f) }

func sumBetween(a, b int, f func(i int) float64) float64 {
	if b-a <= 64 {
		s := 0.0
		for i := a; i < b; i++ {
			// the conversion forbids a fused multiply-add, whose bits depend on the machine
			s += float64(f(i))
		}
		return s
	}
	mid := a + (b-a)/2
	return sumBetween(a, mid, f) + sumBetween(mid, b, f)
}

// IsFinite reports whether x is neither NaN nor infinite.
func IsFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
