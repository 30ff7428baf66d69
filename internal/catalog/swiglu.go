package catalog

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

var _ = register("swiglu", truth{forward: swigluForward, backward: swigluBackward, permits: []string{"fp32", "eager"}, byRows: []string{"rows"}})

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
// sim is not yet rounded to the output. Eager stores silu = g*sigmoid(g) in the dtype: + |v|*(u*|silu| + half the smallest subnormal).
func (k *call) gated(g, v float64, d op.DType) (r, t, tFP32, sim float64) {
	silu := g * sigmoid(g)
	r = silu * v
	if g == 0 || v == 0 {
		return r, 0, 0, r
	}
	tFP32 = judge.U32*(2*math.Abs(g)+12)*math.Abs(r) + math.Abs(g*v)*overflowed + (1+math.Abs(g)+math.Abs(v))*subnormal
	t, sim = tFP32, r
	if k.rules.EveryStep {
		t += math.Abs(v) * (unit(d)*math.Abs(silu) + halfSubnormal(d))
		t += unit(d) * tFP32 // the error of silu is there when it is rounded
		sim = tensor.Round(d, silu, false) * v
	}
	return r, t, tFP32, sim
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
		return r, 0, 0, r
	}
	a := math.Abs(g)
	lost := (1 + a) * (1 + math.Abs(dy) + math.Abs(v) + math.Abs(product)) * subnormal
	tFP32 = math.Abs(product)*(judge.U32*(2*a+16)*sigma*(1+a*rest)+3*judge.U32*sigma*a+(1+a)*overflowed) + lost
	t, sim = tFP32, r
	if k.rules.EveryStep {
		t += (unit(d)*math.Abs(product)+halfSubnormal(d))*math.Abs(s) + unit(d)*tFP32
		sim = tensor.Round(d, product, false) * s
	}
	return r, t, tFP32, sim
}

func swigluForward(k *call) ([]judge.Target, error) {
	in, err := k.rows("gate", "up")
	if err != nil {
		return nil, err
	}
	d := in.tensors[0].DType
	y := k.elementwise(in, "y")
	k.fillElements(in, y, func(own [][]float64, out row) {
		for c, g := range own[0] {
			out.R[c], out.T[c], out.TFP32[c], out.Sim[c] = k.gated(g, own[1][c], d)
		}
		roundRow(out.Sim, out.Sim, d)
	})
	return []judge.Target{y}, nil
}

func swigluBackward(k *call) ([]judge.Target, error) {
	in, err := k.rows("gate", "up", "grad_y")
	if err != nil {
		return nil, err
	}
	d := in.tensors[0].DType
	dgate, dup := k.elementwise(in, "grad_gate"), k.elementwise(in, "grad_up")
	k.fillElements(in, dgate, func(own [][]float64, out row) {
		for c, g := range own[0] {
			out.R[c], out.T[c], out.TFP32[c], out.Sim[c] = k.gateGradient(own[2][c], g, own[1][c], d)
		}
		roundRow(out.Sim, out.Sim, d)
	})
	k.fillElements(in, dup, func(own [][]float64, out row) {
		for c, g := range own[0] {
			out.R[c], out.T[c], out.TFP32[c], out.Sim[c] = k.gated(g, own[2][c], d)
		}
		roundRow(out.Sim, out.Sim, d)
	})
	return []judge.Target{dgate, dup}, nil
}

// rowsOf is how many rows a tensor has.
func rowsOf(t tensor.Tensor) int64 {
	if rank := len(t.Shape); rank > 0 && t.Shape[rank-1] > 0 {
		return t.Elements() / t.Shape[rank-1]
	}
	return min(t.Elements(), 1)
}

// elementwise makes an output that has the shape and dtype of the first input.
func (k *call) elementwise(in rowInputs, name string) judge.Target {
	like := in.tensors[0]
	return k.rowTarget(name, like.DType, like.Shape, k.sample.choose(rowsOf(like)))
}

// fillElements has work compute the rows of an output of elementwise from the same rows of the inputs.
func (k *call) fillElements(in rowInputs, t judge.Target, work func(own [][]float64, out row)) {
	fillRows(k, t, k.sample.choose(rowsOf(in.tensors[0])), in.memory(0), func(own [][]float64, _, r int64, out row) {
		in.read(own, r)
		work(own, out)
	})
}
