package catalog

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

var _ = register("swiglu", truth{forward: swigluForward, backward: swigluBackward, permits: []string{"fp32", "eager"}})

// overflowed is what exp(-g) loses where it overflows fp32: the sigmoid is then below 2^-128 and becomes 0.
const overflowed = 0x1p-128

// sigmoid is 1/(1 + exp(-g)).
func sigmoid(g float64) float64 { return 1 / (1 + math.Exp(-g)) }

// gated is y = g*sigmoid(g)*v with the allowance
//
//	T = u32*(2|g|+12)*|R| + |g*v|*2^-128 + (1+|g|+|v|)*2^-149
//
// 2|g| for the argument of exp, the second term where exp(-g) overflows, the third for intermediates that may be subnormal, whichever two
// factors are multiplied first.
// Eager stores silu = g*sigmoid(g) in the dtype: + |v|*(u*|silu| + half the smallest subnormal).
func (k *call) gated(g, v float64, d op.DType) (r, t, tFP32, sim float64) {
	silu := g * sigmoid(g)
	r = silu * v
	if g == 0 || v == 0 {
		return r, 0, 0, tensor.Round(d, r, false)
	}
	tFP32 = judge.U32*(2*math.Abs(g)+12)*math.Abs(r) + math.Abs(g*v)*overflowed + (1+math.Abs(g)+math.Abs(v))*subnormal
	t, sim = tFP32, r
	if k.rules.EveryStep {
		t += math.Abs(v) * (unit(d)*math.Abs(silu) + halfSubnormal(d))
		t += unit(d) * tFP32 // the error of silu is there when it is rounded
		sim = tensor.Round(d, silu, false) * v
	}
	return r, t, tFP32, tensor.Round(d, sim, false)
}

// gateGradient is dgate = dy*v*s with s = sigmoid(g)*(1 + g*(1-sigmoid(g))) and the allowance
//
//	T = |dy*v|*(u32*(2|g|+16)*sigma*(1+|g|(1-sigma)) + 3*u32*sigma*|g| + (1+|g|)*2^-128)
//	    + (1+|g|)*(1+|dy|+|v|+|dy*v|)*2^-149
//
// Eager stores the product dy*v in the dtype: + (u*|dy*v| + half the smallest subnormal)*|s|.
func (k *call) gateGradient(dy, g, v float64, d op.DType) (r, t, tFP32, sim float64) {
	sigma := sigmoid(g)
	rest := sigmoid(-g) // 1 - sigma without cancellation
	s := sigma * (1 + float64(g*rest))
	product := dy * v
	r = product * s
	if product == 0 {
		return r, 0, 0, tensor.Round(d, r, false)
	}
	a := math.Abs(g)
	lost := (1 + a) * (1 + math.Abs(dy) + math.Abs(v) + math.Abs(product)) * subnormal
	tFP32 = math.Abs(product)*(judge.U32*(2*a+16)*sigma*(1+a*rest)+3*judge.U32*sigma*a+(1+a)*overflowed) + lost
	t, sim = tFP32, r
	if k.rules.EveryStep {
		t += (unit(d)*math.Abs(product)+halfSubnormal(d))*math.Abs(s) + unit(d)*tFP32
		sim = tensor.Round(d, product, false) * s
	}
	return r, t, tFP32, tensor.Round(d, sim, false)
}

func swigluForward(k *call) ([]judge.Target, error) {
	gate, err := k.tensor("gate")
	if err = firstError(err, k.shaped("up", gate.Shape...)); err != nil {
		return nil, err
	}
	in, err := k.values("gate", "up")
	if err != nil {
		return nil, err
	}
	y := k.elementwise("y", gate, func(i int64) (r, t, tFP32, sim float64) { return k.gated(in[0][i], in[1][i], gate.DType) })
	return []judge.Target{y}, nil
}

func swigluBackward(k *call) ([]judge.Target, error) {
	gate, err := k.tensor("gate")
	if err = firstError(err, k.shaped("up", gate.Shape...), k.shaped("grad_y", gate.Shape...)); err != nil {
		return nil, err
	}
	in, err := k.values("gate", "up", "grad_y")
	if err != nil {
		return nil, err
	}
	dgate := k.elementwise("grad_gate", gate, func(i int64) (r, t, tFP32, sim float64) {
		return k.gateGradient(in[2][i], in[0][i], in[1][i], gate.DType)
	})
	dup := k.elementwise("grad_up", gate, func(i int64) (r, t, tFP32, sim float64) { return k.gated(in[0][i], in[2][i], gate.DType) })
	return []judge.Target{dgate, dup}, nil
}

// elementwise fills an output that has the shape and dtype of an input, element by element.
func (k *call) elementwise(name string, like tensor.Tensor, f func(i int64) (r, t, tFP32, sim float64)) judge.Target {
	cols, rows := int64(1), int64(0)
	if rank := len(like.Shape); rank > 0 {
		cols = like.Shape[rank-1]
	}
	if cols > 0 {
		rows = like.Elements() / cols
	}
	chosen := k.sample.choose(rows)
	out := k.target(name, like.DType, like.Shape, chosen)
	eachRow(chosen, rows, func(i, r int64) {
		for c := range cols {
			p := i*cols + c
			out.R[p], out.T[p], out.TFP32[p], out.Sim[p] = f(r*cols + c)
		}
	})
	return out
}
