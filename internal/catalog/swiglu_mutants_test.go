package catalog

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
)

// swigluVariants: the plain formula, the quotient gate/(1+e^-gate), and both with fast functions.
var swigluVariants = []arithmetic{{}, {other: true}, {noisy: true}, {other: true, noisy: true}}

// roundedAnyway says why an early rounding to the dtype changes nothing in fp32.
func roundedAnyway(g group) string {
	if g.dtype == "fp32" {
		return "silu is an fp32 value whether it is stored or not"
	}
	return ""
}

var _ = scored([]suite{
	{op: "swiglu", pass: op.Forward, right: swigluVariants, kernel: emulatedSwiglu, mutants: []mutant{
		{1, "gate and up swapped", nil},
		{2, "sigmoid for silu", nil},
		{3, "low-precision internals", nil},
		{4, "silu rounded early", roundedAnyway},
		{5, "overflowing form", nil},
		{6, "up ignored", nil},
		{7, "GELU for silu", nil},
		{8, "tail not written", nil},
	}},
	{op: "swiglu", pass: op.Backward, right: swigluVariants, kernel: emulatedSwigluBackward, mutants: []mutant{
		{1, "1-sigma term missing", nil},
		{2, "gradients swapped", nil},
		{3, "sigmoid recomputed with the wrong sign", nil},
		{4, "low-precision internals", nil},
		{5, "gate overwritten before use", nil},
		{6, "tail not written", nil},
	}},
})

// sigmoid is 1/(1 + e^-g).
func (a arithmetic) sigmoid(g float64) float64 { return a.fast(1 / f32(1+a.exp(-g))) }

// silu is g*sigmoid(g), or g/(1 + e^-g).
func (a arithmetic) silu(g float64) float64 {
	if a.other {
		return a.fast(g / f32(1+a.exp(-g)))
	}
	return f32(g * a.sigmoid(g))
}

func emulatedSwiglu(a arithmetic, p *prepared) [][]float64 {
	gate, rows, cols := p.matrix("gate")
	up := p.v["up"]
	y := zip(rows*cols, func(i int) float64 {
		g, v := gate[i], up[i]
		if a.bug == "gate and up swapped" {
			g, v = v, g
		}
		silu := a.silu(g)
		switch a.bug {
		case "sigmoid for silu":
			silu = a.sigmoid(g)
		case "low-precision internals":
			low := func(x float64) float64 { return tensor.Round(p.low(), x, false) }
			silu = low(g * low(1/low(1+low(math.Exp(-g)))))
		case "silu rounded early":
			silu = tensor.Round(p.in["gate"].DType, silu, false)
		case "overflowing form":
			silu = f32(g * f32(a.exp(g)/f32(1+a.exp(g))))
		case "GELU for silu":
			silu = f32(g * 0.5 * (1 + math.Erf(g/math.Sqrt2)))
		case "up ignored":
			v = 1
		}
		return f32(silu * v)
	})
	if a.bug == "tail not written" {
		leaveTail(y, rows, cols)
	}
	return [][]float64{y}
}

func emulatedSwigluBackward(a arithmetic, p *prepared) [][]float64 {
	gate, rows, cols := p.matrix("gate")
	up, dy := p.v["up"], p.v["grad_y"]
	dgate := zip(rows*cols, func(i int) float64 {
		g := gate[i]
		sigma := a.sigmoid(g)
		if a.bug == "sigmoid recomputed with the wrong sign" {
			sigma = a.sigmoid(-g)
		}
		slope := f32(sigma * f32(1+f32(g*f32(1-sigma))))
		switch a.bug {
		case "1-sigma term missing":
			slope = sigma
		case "low-precision internals":
			low := func(x float64) float64 { return tensor.Round(p.low(), x, false) }
			sigma = low(1 / low(1+low(math.Exp(-g))))
			slope = low(sigma * low(1+low(g*low(1-sigma))))
		}
		return f32(f32(dy[i]*up[i]) * slope)
	})
	dup := zip(rows*cols, func(i int) float64 {
		g := gate[i]
		if a.bug == "gate overwritten before use" {
			g = tensor.Round(p.in["gate"].DType, dgate[i], false)
		}
		return f32(a.silu(g) * dy[i])
	})
	switch a.bug {
	case "gradients swapped":
		return [][]float64{dup, dgate}
	case "tail not written":
		leaveTail(dgate, rows, cols)
		leaveTail(dup, rows, cols)
	}
	return [][]float64{dgate, dup}
}
