package quantizeint8

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/truth/truthtest"
)

var suites = []truthtest.Suite{{
	Op: "quantize_int8", Pass: op.Forward, Kernel: emulated,
	// divided by the scale and by 127 or 255, and multiplied by their reciprocals
	Right: []truthtest.Arithmetic{{Form: 0}, {Form: 1}, {Form: 2}, {Form: 3}},
	Mutants: []truthtest.Mutant{
		{Number: 1, Name: "truncates"},
		{Number: 2, Name: "halves away from zero"},
		{Number: 3, Name: "floor of x/scale + 1/2"},
		{Number: 4, Name: "one level more"},
		{Number: 5, Name: "scale of the row before", Equivalent: ofRows},
		{Number: 6, Name: "divides zeros by 0"},
		{Number: 7, Name: "scale is at least 1e-3"},
		{Number: 8, Name: "largest without its sign"},
		{Number: 9, Name: "scale of the whole tensor", Equivalent: ofRows},
		{Number: 10, Name: "wraps instead of clamping", Equivalent: ofZeroPoints},
		{Number: 11, Name: "tail of a row left out of the scale"},
		{Number: 12, Name: "zero point before rounding", Equivalent: ofZeroPoints},
		{Number: 13, Name: "zero point missing in q", Equivalent: ofZeroPoints},
		{Number: 14, Name: "zero point of another sign", Equivalent: ofZeroPoints},
		{Number: 15, Name: "zero of unsigned codes", Equivalent: ofZeroPoints},
		{Number: 16, Name: "range without 0", Equivalent: ofZeroPoints},
		{Number: 17, Name: "scale in 16 bits"},
		{Number: 18, Name: "quotient in 16 bits"},
		{Number: 19, Name: "tail of a row not written"},
	},
}}

// ofRows returns why a bug that needs rows with their own scales shows nothing in a group.
func ofRows(g truthtest.Group) string {
	if g.Value == "row" {
		return ""
	}
	return "rows with scales of their own show it"
}

// ofZeroPoints returns why a bug that needs zero points shows nothing in a group.
func ofZeroPoints(g truthtest.Group) string {
	if g.Value == "asymmetric" {
		return ""
	}
	return "zero points show it: without them amax/scale is at most 127"
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// kernel computes in fp32.
type kernel struct {
	truthtest.Arithmetic
	asymmetric bool
	low        op.DType
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	x, rows, cols := p.Matrix("x")
	k := kernel{a, p.Attrs.Text("mode") == "asymmetric", p.Low()}
	perRow := p.Attrs.Text("per") == "row"
	var scales, zeros, q []float64
	of := func(from, to int) (scale, zero float64) {
		return k.levels(k.extent(x[from*cols:to*cols], cols))
	}
	for r := range rows {
		from, to := r, r+1
		if !perRow || a.Bug == "scale of the whole tensor" {
			from, to = 0, rows
		}
		if a.Bug == "scale of the row before" && perRow {
			from, to = max(r-1, 0), max(r, 1)
		}
		scale, zero := of(from, to)
		scales, zeros = append(scales, scale), append(zeros, zero)
		for _, v := range x[r*cols : (r+1)*cols] {
			q = append(q, k.code(v, scale, zero))
		}
	}
	if a.Bug == "tail of a row not written" {
		truthtest.LeaveTail(q, rows, cols)
	}
	if !perRow {
		if rows == 0 {
			scale, zero := of(0, 0)
			scales, zeros = append(scales, scale), append(zeros, zero)
		}
		scales, zeros = scales[:1], zeros[:1]
	}
	if !k.asymmetric {
		zeros = nil
	}
	return [][]float64{q, scales, zeros}
}

// extent returns the range of a group of rows.
func (k kernel) extent(x []float64, cols int) (low, high float64) {
	if k.Bug == "range without 0" && len(x) > 0 && k.asymmetric {
		low, high = x[0], x[0]
	}
	for i, v := range x {
		if k.Bug == "tail of a row left out of the scale" &&
			i%cols >= cols/truthtest.Vector*truthtest.Vector {
			continue
		}
		low, high = min(low, v), max(high, v)
	}
	if k.Bug == "largest without its sign" {
		low = 0
	}
	return low, high
}

// levels returns a scale and a zero point.
func (k kernel) levels(low, high float64) (scale, zero float64) {
	f, steps := truthtest.F32, 127.0
	if k.asymmetric {
		steps = 255
	}
	if k.Bug == "one level more" {
		steps++
	}
	over := func(v float64) float64 {
		if k.Form&2 != 0 {
			return f(v * f(1/steps))
		}
		return f(v / steps)
	}
	scale = max(over(high), over(-low))
	if k.asymmetric {
		scale = f(over(high) - over(low))
	}
	least := leastScale
	if k.Bug == "scale is at least 1e-3" {
		least = f(1e-3)
	}
	scale = max(scale, least)
	if k.Bug == "scale in 16 bits" {
		scale = truthtest.SumLow(k.low, 1, func(int) float64 { return scale })
	}
	if low == 0 && high == 0 {
		scale = 1
		if k.Bug == "divides zeros by 0" {
			scale = 0
		}
	}
	if !k.asymmetric {
		return scale, 0
	}
	zero = clamped(math.RoundToEven(k.quotient(-low, scale)) - 128)
	switch k.Bug {
	case "zero point of another sign":
		zero = clamped(-zero)
	case "zero of unsigned codes":
		zero += 128
	}
	return scale, zero
}

func (k kernel) quotient(x, scale float64) float64 {
	if scale == 0 {
		return 0 // NaN as an integer
	}
	if k.Form&1 != 0 {
		return truthtest.F32(x * truthtest.F32(1/scale))
	}
	return truthtest.F32(x / scale)
}

// code returns one element of q.
func (k kernel) code(x, scale, zero float64) float64 {
	t := k.quotient(x, scale)
	switch k.Bug {
	case "truncates":
		return clamped(math.Trunc(t) + zero)
	case "halves away from zero":
		return clamped(math.Round(t) + zero)
	case "floor of x/scale + 1/2":
		return clamped(math.Floor(truthtest.F32(t+0.5)) + zero)
	case "wraps instead of clamping":
		return float64(int8(int64(math.RoundToEven(t) + zero)))
	case "zero point before rounding":
		return clamped(math.RoundToEven(truthtest.F32(t + zero)))
	case "zero point missing in q":
		zero = 0
	case "quotient in 16 bits":
		t = truthtest.SumLow(k.low, 1, func(int) float64 { return t })
	}
	return clamped(math.RoundToEven(t) + zero)
}
