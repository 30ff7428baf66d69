package judge

import (
	"bytes"
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
)

// Difference is the distance between the outputs of two implementations.
type Difference struct {
	Bitwise   bool  // every bit is the same
	Different int64 // elements whose values differ; NaN equals NaN, and -0 equals +0
	// the largest distance in ulps of the dtype at the larger of the two; +inf where one is NaN or infinite
	// and the other not
	ULP float64
	At  int64 // row-major position of that element, -1 where none differs
}

// DifferenceOf compares the elements of two outputs of one dtype, row-major.
func DifferenceOf(d op.DType, a, b []byte) Difference {
	if len(a) != len(b) {
		return Difference{ULP: math.Inf(1), Different: elementsIn(d, max(len(a), len(b))), At: -1}
	}
	n := int(elementsIn(d, len(a)))
	g := gridOf(Target{DType: d})
	parts := make([]Difference, chunksOf(n))
	eachChunk(n, func(p, first, end int) { parts[p] = g.differenceOf(a, b, first, end) })
	out := Difference{Bitwise: bytes.Equal(a[n*int(d.Size()):], b[n*int(d.Size()):]), At: -1}
	for _, p := range parts {
		out.join(p)
	}
	return out
}

func elementsIn(d op.DType, bytes int) int64 {
	if d.Size() == 0 {
		return 0
	}
	return int64(bytes) / d.Size()
}

// glance is the number of elements that are compared as bytes before they are decoded: most are the same.
const glance = 32

// differenceOf compares the elements from the first up to an end.
func (g *grid) differenceOf(a, b []byte, first, end int) Difference {
	out := Difference{Bitwise: true, At: -1}
	size := int(g.dtype.Size())
	var x, y [glance]float64
	for ; first < end; first += strip {
		last := min(first+strip, end)
		if bytes.Equal(a[first*size:last*size], b[first*size:last*size]) {
			continue
		}
		out.Bitwise = false
		for at := first; at < last; at += glance {
			n := min(glance, last-at)
			a, b := a[at*size:(at+n)*size], b[at*size:(at+n)*size]
			if bytes.Equal(a, b) {
				continue
			}
			tensor.DecodeInto(x[:n], g.dtype, a)
			tensor.DecodeInto(y[:n], g.dtype, b)
			for i, v := range x[:n] {
				if v != y[i] {
					out.note(g, int64(at+i), v, y[i])
				}
			}
		}
	}
	return out
}

// note counts two values that compare as different.
func (f *Difference) note(g *grid, at int64, x, y float64) {
	if math.IsNaN(x) && math.IsNaN(y) {
		return
	}
	f.Different++
	apart := math.Abs(x - y)
	if math.IsNaN(apart) || math.IsInf(apart, 0) {
		apart = math.Inf(1)
	} else {
		largest := math.Max(math.Abs(x), math.Abs(y))
		if g.floating && g.format.P < 53 {
			apart *= power(-g.logULP(largest)) // exact: an ulp is a power of two
		} else {
			apart /= g.ulp(largest)
		}
	}
	if apart > f.ULP {
		f.ULP, f.At = apart, at
	}
}

// join adds the differences of later elements.
func (f *Difference) join(later Difference) {
	f.Bitwise = f.Bitwise && later.Bitwise
	f.Different += later.Different
	if later.ULP > f.ULP {
		f.ULP, f.At = later.ULP, later.At
	}
}
