package judge

import (
	"bytes"
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
)

// Difference is how far two implementations' outputs are apart.
type Difference struct {
	Bitwise   bool    // every bit is the same
	Different int64   // elements whose values differ; NaN equals NaN, and -0 equals +0
	ULP       float64 // the largest distance in ulps of the dtype at the larger of the two; +inf where one is NaN or infinite and the other not
	At        int64   // row-major position of that element, -1 where none differs
}

// DifferenceOf compares the elements of two outputs of one dtype, row-major.
func DifferenceOf(d op.DType, a, b []byte) Difference {
	if bytes.Equal(a, b) {
		return Difference{Bitwise: true, At: -1}
	}
	x, y := tensor.Decode(d, a), tensor.Decode(d, b)
	if len(x) != len(y) {
		return Difference{ULP: math.Inf(1), Different: int64(max(len(x), len(y))), At: -1}
	}
	g := gridOf(Target{DType: d})
	out := Difference{At: -1}
	for i := range x {
		if x[i] == y[i] || math.IsNaN(x[i]) && math.IsNaN(y[i]) {
			continue
		}
		out.Different++
		apart := math.Abs(x[i] - y[i])
		if math.IsNaN(apart) || math.IsInf(apart, 0) {
			apart = math.Inf(1)
		} else {
			apart /= g.ulp(math.Max(math.Abs(x[i]), math.Abs(y[i])))
		}
		if apart > out.ULP {
			out.ULP, out.At = apart, int64(i)
		}
	}
	return out
}
