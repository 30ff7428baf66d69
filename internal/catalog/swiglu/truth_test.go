package swiglu

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

func caseOf(p op.Pass, d op.DType, n int64) op.Case {
	return op.Case{Op: "swiglu", Pass: p, DType: d.String(), Dims: op.Dims{
		{Name: "rows", Value: 1},
		{Name: "cols", Value: n},
	}, Distribution: "normal"}
}

// sigmoid32, forward32 and gate32 compute elements as a kernel does in fp32.
func sigmoid32(g float64) float64 {
	return truthtest.F32(1 / truthtest.F32(1+truthtest.F32(math.Exp(-g))))
}

func forward32(g, v float64) float64 { return truthtest.F32(truthtest.F32(g*sigmoid32(g)) * v) }

func gate32(dy, g, v float64) float64 {
	s := sigmoid32(g)
	return truthtest.F32(truthtest.F32(truthtest.F32(dy*v)*s) * truthtest.F32(1+
		truthtest.F32(g*truthtest.F32(1-s))))
}

func zip(n int, f func(i int) float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = f(i)
	}
	return out
}

func TestAcceptsAndRejects(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	const n = 4099
	for _, d := range truthtest.LowDTypes {
		for _, sigma := range []float64{1e-3, 1, 20, 60} {
			gate, up := truthtest.NormalTensor(r, "gate", d, 0, sigma, 1, n), truthtest.NormalTensor(r,
				"up", d, 0, 1, 1, n)
			dy := truthtest.NormalTensor(r, "grad_y", d, 0, 1, 1, n)
			g, v, dys := gate.Float64s(), up.Float64s(), dy.Float64s()
			what := fmt.Sprintf("%v sigma %v", d, sigma)
			in := []tensor.Tensor{gate, up}
			back := []tensor.Tensor{gate, up, dy}
			truth := truthtest.TruthFor(t, caseOf(op.Forward, d, n), "fp32", in)
			gradients := truthtest.TruthFor(t, caseOf(op.Backward, d, n), "fp32", back)
			truthtest.Accepts(t, what+" sim", truthtest.Judged(truth, truthtest.Sims(truth)...))
			truthtest.Accepts(t, what,
				truthtest.Judged(truth, zip(n, func(i int) float64 { return forward32(g[i], v[i]) })))
			dgate := zip(n, func(i int) float64 { return gate32(dys[i], g[i], v[i]) })
			dup := zip(n, func(i int) float64 { return forward32(g[i], dys[i]) })
			truthtest.Accepts(t, what+" backward", truthtest.Judged(gradients, dgate, dup))
			truthtest.Accepts(t, what+" backward sim", truthtest.Judged(gradients,
				truthtest.Sims(gradients)...))
			truthtest.Rejects(t, what+" swapped",
				truthtest.Judged(truth, zip(n, func(i int) float64 { return forward32(v[i], g[i]) })))
			truthtest.Rejects(t, what+" tail",
				truthtest.Judged(truth, append(append([]float64(nil), truth.Outputs[0].Sim[:n-3]...), 0, 0,
					0)))
			truthtest.Rejects(t, what+" gradients swapped", truthtest.Judged(gradients, dup, dgate))
			if sigma == 1 {
				flat := zip(n, func(i int) float64 { return dys[i] * v[i] * sigmoid(g[i]) })
				truthtest.Rejects(t, what+" gate gradient without 1-sigma",
					truthtest.Judged(gradients, flat, dup))
			}
			if d == op.FP32 {
				continue
			}
			low := func(x float64) float64 { return tensor.Round(d, x, false) }
			eager := zip(n, func(i int) float64 { return low(g[i]*sigmoid32(g[i])) * v[i] })
			truthtest.Rejects(t, what+" silu rounded early", truthtest.Judged(truth, eager))
			truthtest.Accepts(t, what+" eager",
				truthtest.Judged(truthtest.TruthFor(t, caseOf(op.Forward, d, n), "eager", in), eager))
			loose := truthtest.TruthFor(t, caseOf(op.Backward, d, n), "eager", back)
			truthtest.Accepts(t, what+" eager backward", truthtest.Judged(loose, zip(n, func(i int) float64 {
				s := sigmoid32(g[i])
				return low(dys[i]*v[i]) * (s * (1 + g[i]*(1-s)))
			}), zip(n, func(i int) float64 { return low(g[i]*sigmoid32(g[i])) * dys[i] })))
		}
	}
}

// TestExtremes: subnormal, huge and infinite inputs.
func TestExtremes(t *testing.T) {
	c := caseOf(op.Forward, op.FP32, 8)
	c.Distribution = "non_finite"
	gate := truthtest.Literal("gate", op.FP32, []float64{
		math.Inf(-1), math.Inf(1), math.NaN(), 0x1p-149,
		-1e4, 0, 3e38, -90,
	}, 1, 8)
	up := truthtest.Literal("up", op.FP32, []float64{1, -2, 1, 3, 5, 7, 1e3, 1e30}, 1, 8)
	truth := truthtest.TruthFor(t, c, "fp32", []tensor.Tensor{gate, up})
	g, v := gate.Float64s(), up.Float64s()
	truthtest.Accepts(t, "extremes",
		truthtest.Judged(truth, zip(8, func(i int) float64 { return forward32(g[i], v[i]) })))
	truthtest.Rejects(t, "0 for NaN", truthtest.Judged(truth,
		append([]float64{0}, zip(7, func(i int) float64 { return forward32(g[i+1], v[i+1]) })...)))
}

func TestGradient(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	const n = 40
	gate, up := truthtest.NormalTensor(r, "gate", op.FP32, 0, 3, 1, n), truthtest.NormalTensor(r, "up",
		op.FP32, 0, 1, 1, n)
	dy := truthtest.NormalTensor(r, "grad_y", op.FP32, 0, 1, 1, n)
	truth := truthtest.TruthFor(t, caseOf(op.Backward, op.FP32, n), "fp32", []tensor.Tensor{gate, up, dy})
	dys := dy.Float64s()
	loss := func(z []complex128) complex128 {
		total := complex128(0)
		for i := range n {
			total += z[i] / (1 + cmplx.Exp(-z[i])) * z[n+i] * complex(dys[i], 0)
		}
		return total
	}
	truthtest.CheckGradient(t, "swiglu", r, loss, append(gate.Float64s(), up.Float64s()...),
		append(truth.Outputs[0].R, truth.Outputs[1].R...))
}
