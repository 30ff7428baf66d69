package truth

import (
	"math"

	"triad/internal/judge"
)

// Terms are the figures of numbers that a kernel adds up in fp32: their number, their sum, the sums of their
// magnitudes and squares, and of their own possible errors, under the contract and in fp32.
type Terms struct {
	N                              int64
	Sum, Abs, Square, Off, OffFP32 float64
}

// With returns the figures of two groups together.
func (t Terms) With(o Terms) Terms {
	return Terms{
		t.N + o.N, t.Sum + o.Sum, t.Abs + o.Abs, t.Square + o.Square, t.Off + o.Off, t.OffFP32 + o.OffFP32,
	}
}

// Term returns the figures of one number that may be off.
func Term(r, off, offFP32 float64) Terms {
	return Terms{N: 1, Sum: r, Abs: math.Abs(r), Square: r * r, Off: off, OffFP32: offFP32}
}

// TermsOf returns the figures of some numbers, each of which may be off.
func TermsOf(of Row) Terms {
	n := len(of.R)
	r := of.R
	return Terms{
		N: int64(n), Sum: Sum(r), Abs: SumOf(n, func(i int) float64 { return math.Abs(r[i]) }),
		Square: SumOf(n, func(i int) float64 { return r[i] * r[i] }), Off: Sum(of.T), OffFP32: Sum(of.TFP32),
	}
}

// partialSigmas is the number of standard deviations that a partial sum of independent terms of mean 0 stays
// within.
const partialSigmas = 8.0

// SumError bounds the rounding error of adding some terms in fp32, in any order. Each addition loses a
// roundoff of a partial sum, which is at most the sum of the magnitudes. For many independent terms a partial
// sum is far smaller: it stays within a few standard deviations of the mean, each at most the root of the sum
// of squares.
func (k *Request) SumError(t Terms) (t16, tFP32 float64) {
	if t.N <= 1 {
		return t.Off, t.OffFP32 // nothing is rounded
	}
	partial := t.Abs
	if k.independent() {
		partial = min(partial, math.Abs(t.Sum)+partialSigmas*math.Sqrt(t.Square))
	}
	units := judge.U32 * k.growthRounded(t.N)
	return t.Off + units*(partial+t.Off), t.OffFP32 + units*(partial+t.OffFP32)
}

// growthRounded is Growth for sums outside tensor cores.
func (k *Request) growthRounded(n int64) float64 {
	if k.equalTerms() {
		return k.Growth(n)
	}
	return judge.GRounded(n)
}

// exactly24 is the largest sum of integers all of whose partial sums fp32 represents exactly.
const exactly24 = 0x1p24

// ExactSums reports whether fp32 represents every partial sum of the terms exactly, in any order.
func (k *Request) ExactSums(t Terms) bool {
	return k.Distribution == "integers" && t.Off == 0 && t.Abs <= exactly24
}
