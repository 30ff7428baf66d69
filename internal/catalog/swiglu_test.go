package catalog

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

func swigluCase(p op.Pass, d op.DType, n int64) op.Case {
	return op.Case{Op: "swiglu", Pass: p, DType: d.String(), Dims: op.Dims{{Name: "rows", Value: 1}, {Name: "cols", Value: n}}, Distribution: "normal"}
}

// The elements as a kernel computes them in fp32.
func sigmoid32(g float64) float64   { return f32(1 / f32(1+f32(math.Exp(-g)))) }
func swiglu32(g, v float64) float64 { return f32(f32(g*sigmoid32(g)) * v) }
func swigluGate32(dy, g, v float64) float64 {
	s := sigmoid32(g)
	return f32(f32(f32(dy*v)*s) * f32(1+f32(g*f32(1-s))))
}

func zip(n int, f func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func TestSwigluAcceptsAndRejects(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	const n = 4099
	for _, d := range lowDTypes {
		for _, sigma := range []float64{1e-3, 1, 20, 60} {
			gate, up, dy := normalTensor(r, "gate", d, 0, sigma, 1, n), normalTensor(r, "up", d, 0, 1, 1, n), normalTensor(r, "grad_y", d, 0, 1, 1, n)
			g, v, dys := gate.Float64s(), up.Float64s(), dy.Float64s()
			what := fmt.Sprintf("%v sigma %v", d, sigma)
			in := []tensor.Tensor{gate, up}
			back := []tensor.Tensor{gate, up, dy}
			truth := truthFor(t, swigluCase(op.Forward, d, n), "fp32", in)
			gradients := truthFor(t, swigluCase(op.Backward, d, n), "fp32", back)
			accepts(t, what+" sim", judged(truth, sims(truth)...))
			accepts(t, what, judged(truth, zip(n, func(i int) float64 { return swiglu32(g[i], v[i]) })))
			dgate := zip(n, func(i int) float64 { return swigluGate32(dys[i], g[i], v[i]) })
			dup := zip(n, func(i int) float64 { return swiglu32(g[i], dys[i]) })
			accepts(t, what+" backward", judged(gradients, dgate, dup))
			accepts(t, what+" backward sim", judged(gradients, sims(gradients)...))
			rejects(t, what+" swapped", judged(truth, zip(n, func(i int) float64 { return swiglu32(v[i], g[i]) })))
			rejects(t, what+" tail", judged(truth, append(append([]float64(nil), truth.Outputs[0].Sim[:n-3]...), 0, 0, 0)))
			rejects(t, what+" gradients swapped", judged(gradients, dup, dgate))
			if sigma == 1 {
				flat := zip(n, func(i int) float64 { return dys[i] * v[i] * sigmoid(g[i]) })
				rejects(t, what+" gate gradient without 1-sigma", judged(gradients, flat, dup))
			}
			if d == op.FP32 {
				continue
			}
			low := func(x float64) float64 { return tensor.Round(d, x, false) }
			eager := zip(n, func(i int) float64 { return low(g[i]*sigmoid32(g[i])) * v[i] })
			rejects(t, what+" silu rounded early", judged(truth, eager))
			accepts(t, what+" eager", judged(truthFor(t, swigluCase(op.Forward, d, n), "eager", in), eager))
			loose := truthFor(t, swigluCase(op.Backward, d, n), "eager", back)
			accepts(t, what+" eager backward", judged(loose, zip(n, func(i int) float64 {
				s := sigmoid32(g[i])
				return low(dys[i]*v[i]) * (s * (1 + g[i]*(1-s)))
			}), zip(n, func(i int) float64 { return low(g[i]*sigmoid32(g[i])) * dys[i] })))
		}
	}
}

// TestSwigluExtremes: subnormal, huge and infinite inputs.
func TestSwigluExtremes(t *testing.T) {
	c := swigluCase(op.Forward, op.FP32, 8)
	c.Distribution = "non_finite"
	gate := literal("gate", op.FP32, []float64{math.Inf(-1), math.Inf(1), math.NaN(), 0x1p-149, -1e4, 0, 3e38, -90}, 1, 8)
	up := literal("up", op.FP32, []float64{1, -2, 1, 3, 5, 7, 1e3, 1e30}, 1, 8)
	truth := truthFor(t, c, "fp32", []tensor.Tensor{gate, up})
	g, v := gate.Float64s(), up.Float64s()
	accepts(t, "extremes", judged(truth, zip(8, func(i int) float64 { return swiglu32(g[i], v[i]) })))
	rejects(t, "0 for NaN", judged(truth, append([]float64{0}, zip(7, func(i int) float64 { return swiglu32(g[i+1], v[i+1]) })...)))
}

func TestSwigluGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	const n = 40
	gate, up, dy := normalTensor(r, "gate", op.FP32, 0, 3, 1, n), normalTensor(r, "up", op.FP32, 0, 1, 1, n), normalTensor(r, "grad_y", op.FP32, 0, 1, 1, n)
	truth := truthFor(t, swigluCase(op.Backward, op.FP32, n), "fp32", []tensor.Tensor{gate, up, dy})
	dys := dy.Float64s()
	loss := func(z []complex128) complex128 {
		total := complex128(0)
		for i := range n {
			total += z[i] / (1 + cmplx.Exp(-z[i])) * z[n+i] * complex(dys[i], 0)
		}
		return total
	}
	checkGradient(t, "swiglu", r, loss, append(gate.Float64s(), up.Float64s()...), append(truth.Outputs[0].R, truth.Outputs[1].R...))
}
