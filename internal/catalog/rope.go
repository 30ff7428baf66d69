package catalog

import (
	"fmt"
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

var _ = register("rope", truth{forward: ropeForward, backward: ropeBackward, permits: []string{"fp32", "eager"}})

func ropeForward(k *call) ([]judge.Target, error) {
	return k.rotated([]string{"q", "k"}, []string{"q_out", "k_out"}, 1)
}

// ropeBackward is the rotation by the negative angle.
func ropeBackward(k *call) ([]judge.Target, error) {
	return k.rotated([]string{"grad_q_out", "grad_k_out"}, []string{"grad_q", "grad_k"}, -1)
}

// rotated rotates each of the inputs; sign -1 turns the angle round.
func (k *call) rotated(inputs, outputs []string, sign float64) ([]judge.Target, error) {
	tables, err := k.values("cos", "sin")
	if err != nil {
		return nil, err
	}
	cos, err := k.rank("cos", 2)
	if err = firstError(err, k.shaped("sin", cos.Shape...)); err != nil {
		return nil, err
	}
	offset := int64(k.Attrs.Number("offset"))
	var targets []judge.Target
	for i, name := range inputs {
		x, err := k.rank(name, 4)
		if err != nil {
			return nil, err
		}
		if x.Shape[3] != 2*cos.Shape[1] || offset < 0 || offset+x.Shape[1] > cos.Shape[0] {
			return nil, fmt.Errorf("%s has shape %v at offset %d and cos %v: want head_dim twice the columns of cos, and a row of it for every position",
				name, x.Shape, offset, cos.Shape)
		}
		r := rotation{
			k: k, x: x.Float64s(), cos: tables[0], sin: tables[1], sign: sign, d: x.DType, half: cos.Shape[1], seq: x.Shape[1], heads: x.Shape[2],
			offset: offset, interleaved: k.Attrs.Number("interleaved") != 0,
		}
		if r.exact = k.Distribution == "integers" && onlyQuarterTurns(tables[0], tables[1]); r.exact {
			targets = append(targets, exactly(k.elementwise(outputs[i], x, r.element)))
			continue
		}
		targets = append(targets, k.elementwise(outputs[i], x, r.element))
	}
	return targets, nil
}

// onlyQuarterTurns says whether every cos and sin is 0, 1 or -1: products and sums of the rotation are then exact.
func onlyQuarterTurns(cos, sin []float64) bool {
	for _, table := range [][]float64{cos, sin} {
		for _, v := range table {
			if v != 0 && v != 1 && v != -1 {
				return false
			}
		}
	}
	return true
}

// rotation is x[batch, seq, heads, 2*half] turned by the angles of position offset + t.
type rotation struct {
	k                        *call
	x, cos, sin              []float64
	sign                     float64
	d                        op.DType
	half, seq, heads, offset int64
	interleaved, exact       bool
}

// element computes out1 = x1*cos - x2*sin or out2 = x2*cos + x1*sin, with the allowance
//
//	T = 4*u32*(|x1|+|x2|) + 2^-149
//
// two products and a sum; the last term for products that are subnormal. Eager casts cos and sin to the dtype first and stores both
// products: + 2*u*(|a*cos| + |b*sin|) and what storing loses below the normal range.
func (r rotation) element(i int64) (value, t, tFP32, sim float64) {
	dim := 2 * r.half
	j, token := i%dim, i/(dim*r.heads)
	angle := (r.offset + token%r.seq)
	var pair, partner int64
	first := j < r.half
	if r.interleaved {
		pair, first = j/2, j%2 == 0
		partner = i + 1
		if !first {
			partner = i - 1
		}
	} else {
		pair, partner = j%r.half, i+r.half
		if !first {
			partner = i - r.half
		}
	}
	a, b := r.x[i], r.x[partner]
	cos, sin := r.cos[angle*r.half+pair], r.sin[angle*r.half+pair]*r.sign
	if first {
		sin = -sin
	}
	value = float64(a*cos) + float64(b*sin)
	sim = value
	if r.exact || a == 0 && b == 0 {
		return value, 0, 0, tensor.Round(r.d, sim, false)
	}
	tFP32 = 4*judge.U32*(math.Abs(a)+math.Abs(b)) + subnormal
	t = tFP32
	if r.k.rules.EveryStep {
		u, lost := unit(r.d), halfSubnormal(r.d)
		t += (2*u+u*u)*(math.Abs(a*cos)+math.Abs(b*sin)) + (2+math.Abs(a)+math.Abs(b))*lost
		low := func(x float64) float64 { return tensor.Round(r.d, x, false) }
		sim = low(a*low(cos)) + low(b*low(sin))
	}
	return value, t, tFP32, tensor.Round(r.d, sim, false)
}
