package int8gemm

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/truth/truthtest"
)

var suites = []truthtest.Suite{{
	Op: "int8_gemm", Pass: op.Forward, Kernel: emulated,
	// the scales in sequence, their product first, and the factor of all three first
	Right: []truthtest.Arithmetic{{Form: 0}, {Form: 1}, {Form: 2}},
	Mutants: []truthtest.Mutant{
		{Number: 1, Name: "int16 accumulator"},
		{Number: 2, Name: "zero point of a missing"},
		{Number: 3, Name: "zero point of b missing"},
		{Number: 4, Name: "zero point of c missing"},
		{Number: 5, Name: "a read as unsigned"},
		{Number: 6, Name: "b read as unsigned"},
		{Number: 7, Name: "scales of b and c swapped"},
		{Number: 8, Name: "rounded before the last scale"},
		{Number: 9, Name: "last words of k dropped"},
		{Number: 10, Name: "k * zero_a * zero_b missing"},
		{Number: 11, Name: "zero_a times zero_b in 16 bits, times k"},
		{Number: 12, Name: "wraps instead of clamping"},
		{Number: 13, Name: "halves away from zero"},
		{Number: 14, Name: "truncates"},
		{Number: 15, Name: "zero point added before rounding, halves to even"},
		{Number: 16, Name: "tail of a row not written"},
		{Number: 17, Name: "b transposed"},
		{Number: 18, Name: "a - zero_a wraps in 8 bits"},
		{Number: 19, Name: "clamped before the zero point is added"},
		{Number: 20, Name: "scale of c in bf16"},
	},
}}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// emulated computes the kernel with its bug.
func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	left, m, k := p.Matrix("a")
	right, _, n := p.Matrix("b")
	e := emulation{
		a:  a,
		za: p.Attrs.Number("zero_a"),
		zb: p.Attrs.Number("zero_b"),
		zc: p.Attrs.Number("zero_c"),
	}
	e.scales = [3]float64{p.Attrs.Number("scale_a"), p.Attrs.Number("scale_b"), p.Attrs.Number("scale_c")}
	e.change()
	depth := k
	if a.Bug == "last words of k dropped" {
		depth = k / 4 * 4
	}
	c := make([]float64, 0, m*n)
	for i := range m {
		for j := range n {
			sum := 0.0
			for x := range depth {
				at := x*n + j
				if a.Bug == "b transposed" {
					at = (j*k + x) % (k * n)
				}
				sum += e.left(left[i*k+x]) * e.right(right[at])
			}
			c = append(c, e.result(sum, float64(k)))
		}
	}
	if a.Bug == "tail of a row not written" {
		truthtest.LeaveTail(c, m, n)
	}
	return [][]float64{c}
}

type emulation struct {
	a          truthtest.Arithmetic
	za, zb, zc float64
	scales     [3]float64 // of a, b and c
}

// change plants the bugs of scales and zero points.
func (e *emulation) change() {
	switch e.a.Bug {
	case "zero point of a missing":
		e.za = 0
	case "zero point of b missing":
		e.zb = 0
	case "zero point of c missing":
		e.zc = 0
	case "scales of b and c swapped":
		e.scales[1], e.scales[2] = e.scales[2], e.scales[1]
	case "scale of c in bf16":
		e.scales[2] = truthtest.SumLow(op.BF16, 1, func(int) float64 { return e.scales[2] })
	}
}

func (e *emulation) left(v float64) float64 {
	if e.a.Bug == "a read as unsigned" && v < 0 {
		v += 256
	}
	if e.a.Bug == "a - zero_a wraps in 8 bits" {
		return float64(int8(int64(v - e.za)))
	}
	return v - e.za
}

func (e *emulation) right(v float64) float64 {
	if e.a.Bug == "b read as unsigned" && v < 0 {
		v += 256
	}
	return v - e.zb
}

// result returns an element of c from its sum over k products.
func (e *emulation) result(sum, k float64) float64 {
	switch e.a.Bug {
	case "int16 accumulator":
		sum = float64(int16(int64(sum)))
	case "k * zero_a * zero_b missing":
		sum -= k * e.za * e.zb
	case "zero_a times zero_b in 16 bits, times k":
		sum += float64(int16(int64(k*e.za*e.zb))) - k*e.za*e.zb
	}
	t := e.scaled(truthtest.F32(sum))
	switch e.a.Bug {
	case "halves away from zero":
		return clamped(math.Round(t) + e.zc)
	case "truncates":
		return clamped(math.Trunc(t) + e.zc)
	case "zero point added before rounding, halves to even":
		return clamped(math.RoundToEven(t + e.zc))
	case "wraps instead of clamping":
		return float64(int8(int64(math.RoundToEven(t) + e.zc)))
	case "clamped before the zero point is added":
		return clamped(clamped(math.RoundToEven(t)) + e.zc)
	}
	return clamped(math.RoundToEven(t) + e.zc)
}

// scaled applies the scales in fp32.
func (e *emulation) scaled(sum float64) float64 {
	a, b, c := e.scales[0], e.scales[1], e.scales[2]
	f := truthtest.F32
	switch {
	case e.a.Bug == "rounded before the last scale":
		return f(math.RoundToEven(f(f(sum*a)*b)) / c)
	case e.a.Form == 1:
		return f(f(sum*f(a*b)) / c)
	case e.a.Form == 2:
		return f(sum * f(f(a*b)/c))
	}
	return f(f(f(sum*a)*b) / c)
}
