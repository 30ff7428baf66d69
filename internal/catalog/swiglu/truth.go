// Package swiglu is the truth of swiglu: SwiGLU, silu(gate) * up.
package swiglu

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Register("swiglu", truth.Definition{
	Forward: forward, Backward: backward, Permits: []string{"fp32", "eager"}, ByRows: []string{"rows"},
})

// overflowed is the error where exp(-g) overflows fp32: the sigmoid is then below 2^-128 and becomes 0.
const overflowed = 0x1p-128

// sigmoid returns 1/(1 + exp(-g)).
func sigmoid(g float64) float64 { return 1 / (1 + math.Exp(-g)) }

// gated returns y = g*sigmoid(g)*v with the error bound
//
//	T = u32*(2|g|+12)*|R| + |g*v|*2^-128 + (1+|g|+|v|)*2^-149
//
// 2|g| for the argument of exp, the second term where exp(-g) overflows, the third for intermediates that may
// be subnormal, whichever two factors are multiplied first. sim is not yet rounded to the output. Eager
// stores silu = g*sigmoid(g) in the dtype: + |v|*(u*|silu| + half the smallest subnormal).
func gated(k *truth.Request, g, v float64, d op.DType) (r, t, tFP32, sim float64) {
	silu := g * sigmoid(g)
	r = silu * v
	if g == 0 || v == 0 {
		return r, 0, 0, r
	}
	tFP32 = judge.U32*(2*math.Abs(g)+12)*math.Abs(r) + math.Abs(g*v)*overflowed +
		(1+math.Abs(g)+math.Abs(v))*truth.Subnormal
	t, sim = tFP32, r
	if k.Rules.EveryStep {
		t += math.Abs(v) * (truth.Unit(d)*math.Abs(silu) + truth.HalfSubnormal(d))
		t += truth.Unit(d) * tFP32 // the error of silu is there when it is rounded
		sim = tensor.Round(d, silu, false) * v
	}
	return r, t, tFP32, sim
}

// gateGradient returns dgate = dy*v*s with s = sigmoid(g)*(1 + g*(1-sigmoid(g))) and the error bound
//
//	T = |dy*v|*(u32*(2|g|+16)*sigma*(1+|g|(1-sigma)) + 3*u32*sigma*|g| + (1+|g|)*2^-128)
//	    + (1+|g|)*(1+|dy|+|v|+|dy*v|)*2^-149
//
// Eager stores the product dy*v in the dtype: + (u*|dy*v| + half the smallest subnormal)*|s|.
func gateGradient(k *truth.Request, dy, g, v float64, d op.DType) (r, t, tFP32, sim float64) {
	sigma := sigmoid(g)
	rest := sigmoid(-g) // 1 - sigma without cancellation
	s := sigma * (1 + float64(g*rest))
	product := dy * v
	r = product * s
	if product == 0 {
		return r, 0, 0, r
	}
	a := math.Abs(g)
	lost := (1 + a) * (1 + math.Abs(dy) + math.Abs(v) + math.Abs(product)) * truth.Subnormal
	tFP32 = math.Abs(product)*(judge.U32*(2*a+16)*sigma*(1+a*rest)+3*judge.U32*sigma*a+(1+a)*overflowed) +
		lost
	t, sim = tFP32, r
	if k.Rules.EveryStep {
		t += (truth.Unit(d)*math.Abs(product)+truth.HalfSubnormal(d))*math.Abs(s) + truth.Unit(d)*tFP32
		sim = tensor.Round(d, product, false) * s
	}
	return r, t, tFP32, sim
}

func forward(k *truth.Request) ([]judge.Target, error) {
	in, err := k.Rows("gate", "up")
	if err != nil {
		return nil, err
	}
	d := in.Tensors[0].DType
	y := k.Elementwise(in, "y")
	k.FillElements(in, y, func(own [][]float64, out truth.Row) {
		for c, g := range own[0] {
			out.R[c], out.T[c], out.TFP32[c], out.Sim[c] = gated(k, g, own[1][c], d)
		}
		truth.RoundRow(out.Sim, out.Sim, d)
	})
	return []judge.Target{y}, nil
}

func backward(k *truth.Request) ([]judge.Target, error) {
	in, err := k.Rows("gate", "up", "grad_y")
	if err != nil {
		return nil, err
	}
	d := in.Tensors[0].DType
	dgate, dup := k.Elementwise(in, "grad_gate"), k.Elementwise(in, "grad_up")
	k.FillElements(in, dgate, func(own [][]float64, out truth.Row) {
		for c, g := range own[0] {
			out.R[c], out.T[c], out.TFP32[c], out.Sim[c] = gateGradient(k, own[2][c], g, own[1][c], d)
		}
		truth.RoundRow(out.Sim, out.Sim, d)
	})
	k.FillElements(in, dup, func(own [][]float64, out truth.Row) {
		for c, g := range own[0] {
			out.R[c], out.T[c], out.TFP32[c], out.Sim[c] = gated(k, g, own[2][c], d)
		}
		truth.RoundRow(out.Sim, out.Sim, d)
	})
	return []judge.Target{dgate, dup}, nil
}
