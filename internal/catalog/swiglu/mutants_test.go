package swiglu

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

// variants: the plain formula, the quotient gate/(1+e^-gate), and both with fast functions.
var variants = []truthtest.Arithmetic{{}, {Other: true}, {Noisy: true}, {Other: true, Noisy: true}}

// roundedAnyway returns why an early rounding to the dtype changes nothing in fp32.
func roundedAnyway(g truthtest.Group) string {
	if g.Dtype == "fp32" {
		return "silu is an fp32 value whether it is stored or not"
	}
	return ""
}

var suites = []truthtest.Suite{
	{Op: "swiglu", Pass: op.Forward, Right: variants, Kernel: emulated, Mutants: []truthtest.Mutant{
		{Number: 1, Name: "gate and up swapped"},
		{Number: 2, Name: "sigmoid for silu"},
		{Number: 3, Name: "low-precision internals"},
		{Number: 4, Name: "silu rounded early", Equivalent: roundedAnyway},
		{Number: 5, Name: "overflowing form"},
		{Number: 6, Name: "up ignored"},
		{Number: 7, Name: "GELU for silu"},
		{Number: 8, Name: "tail not written"},
	}},
	{Op: "swiglu", Pass: op.Backward, Right: variants, Kernel: emulatedBackward, Mutants: []truthtest.Mutant{
		{Number: 1, Name: "1-sigma term missing"},
		{Number: 2, Name: "gradients swapped"},
		{Number: 3, Name: "sigmoid recomputed with the wrong sign"},
		{Number: 4, Name: "low-precision internals"},
		{Number: 5, Name: "gate overwritten before use"},
		{Number: 6, Name: "tail not written"},
	}},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// emulatedSigmoid returns 1/(1 + e^-g).
func emulatedSigmoid(a truthtest.Arithmetic, g float64) float64 {
	return a.Fast(1 / truthtest.F32(1+a.Exp(-g)))
}

// emulatedSilu returns g*sigmoid(g), or g/(1 + e^-g).
func emulatedSilu(a truthtest.Arithmetic, g float64) float64 {
	if a.Other {
		return a.Fast(g / truthtest.F32(1+a.Exp(-g)))
	}
	return truthtest.F32(g * emulatedSigmoid(a, g))
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	gate, rows, cols := p.Matrix("gate")
	up := p.V["up"]
	y := zip(rows*cols, func(i int) float64 {
		g, v := gate[i], up[i]
		if a.Bug == "gate and up swapped" {
			g, v = v, g
		}
		silu := emulatedSilu(a, g)
		switch a.Bug {
		case "sigmoid for silu":
			silu = emulatedSigmoid(a, g)
		case "low-precision internals":
			low := func(x float64) float64 { return tensor.Round(p.Low(), x, false) }
			silu = low(g * low(1/low(1+low(math.Exp(-g)))))
		case "silu rounded early":
			silu = tensor.Round(p.In["gate"].DType, silu, false)
		case "overflowing form":
			silu = truthtest.F32(g * truthtest.F32(a.Exp(g)/truthtest.F32(1+a.Exp(g))))
		case "GELU for silu":
			silu = truthtest.F32(g * 0.5 * (1 + math.Erf(g/math.Sqrt2)))
		case "up ignored":
			v = 1
		}
		return truthtest.F32(silu * v)
	})
	if a.Bug == "tail not written" {
		truthtest.LeaveTail(y, rows, cols)
	}
	return [][]float64{y}
}

func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	gate, rows, cols := p.Matrix("gate")
	up, dy := p.V["up"], p.V["grad_y"]
	dgate := zip(rows*cols, func(i int) float64 {
		g := gate[i]
		sigma := emulatedSigmoid(a, g)
		if a.Bug == "sigmoid recomputed with the wrong sign" {
			sigma = emulatedSigmoid(a, -g)
		}
		slope := truthtest.F32(sigma * truthtest.F32(1+truthtest.F32(g*truthtest.F32(1-sigma))))
		switch a.Bug {
		case "1-sigma term missing":
			slope = sigma
		case "low-precision internals":
			low := func(x float64) float64 { return tensor.Round(p.Low(), x, false) }
			sigma = low(1 / low(1+low(math.Exp(-g))))
			slope = low(sigma * low(1+low(g*low(1-sigma))))
		}
		return truthtest.F32(truthtest.F32(dy[i]*up[i]) * slope)
	})
	dup := zip(rows*cols, func(i int) float64 {
		g := gate[i]
		if a.Bug == "gate overwritten before use" {
			g = tensor.Round(p.In["gate"].DType, dgate[i], false)
		}
		return truthtest.F32(emulatedSilu(a, g) * dy[i])
	})
	switch a.Bug {
	case "gradients swapped":
		return [][]float64{dup, dgate}
	case "tail not written":
		truthtest.LeaveTail(dgate, rows, cols)
		truthtest.LeaveTail(dup, rows, cols)
	}
	return [][]float64{dgate, dup}
}
