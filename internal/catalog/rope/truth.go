// Package rope is the truth of rope: rotary position embedding.
package rope

import (
	"fmt"
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Register("rope", truth.Definition{
	Forward: forward, Backward: backward, Permits: []string{"fp32", "eager"},
	ByRows: []string{"batch", "seq"}, From: fromPosition,
})

// fromPosition returns a case whose first position is a later one.
func fromPosition(c op.Case, position int64) op.Case {
	return truth.WithNumber(c, "offset", func(v float64) float64 { return v + float64(position) })
}

func forward(k *truth.Request) ([]judge.Target, error) {
	return rotated(k, []string{"q", "k"}, []string{"q_out", "k_out"}, 1)
}

// backward computes the rotation by the negative angle.
func backward(k *truth.Request) ([]judge.Target, error) {
	return rotated(k, []string{"grad_q_out", "grad_k_out"}, []string{"grad_q", "grad_k"}, -1)
}

// rotated rotates each of the inputs; sign -1 reverses the angle.
func rotated(k *truth.Request, inputs, outputs []string, sign float64) ([]judge.Target, error) {
	cos, err := k.Rank("cos", 2)
	sin, errSin := k.Tensor("sin")
	if err = truth.FirstError(err, errSin, k.Shaped("sin", cos.Shape...)); err != nil {
		return nil, err
	}
	exact := k.Distribution == "integers" && onlyQuarterTurns(cos.Float64s(), sin.Float64s())
	offset := int64(k.Attrs.Number("offset"))
	var targets []judge.Target
	for i, name := range inputs {
		x, err := k.Rank(name, 4)
		if err != nil {
			return nil, err
		}
		if x.Shape[3] != 2*cos.Shape[1] || offset < 0 || offset+x.Shape[1] > cos.Shape[0] {
			return nil, fmt.Errorf("%s has shape %v at offset %d and cos %v: want head_dim twice the "+
				"columns of cos, and a row of it for every position",
				name, x.Shape, offset, cos.Shape)
		}
		in, _ := k.Rows(name)
		out := k.Elementwise(in, outputs[i])
		truth.FillRows(k, out, k.Sample.Choose(truth.RowsOf(x)), in.Memory(2),
			func(own [][]float64, _, r int64, turned truth.Row) {
				in.Read(own, r)
				rotation := rotation{
					rules: k.Rules, x: own[0], cos: own[1][:cos.Shape[1]], sin: own[2][:cos.Shape[1]],
					sign: sign, d: x.DType,
					interleaved: k.Attrs.Number("interleaved") != 0, exact: exact,
				}
				angle := offset + r/x.Shape[2]%x.Shape[1]
				cos.DecodeRow(rotation.cos, angle, 0)
				sin.DecodeRow(rotation.sin, angle, 0)
				rotation.fill(turned)
			})
		if exact {
			out = truth.Exactly(out)
		}
		targets = append(targets, out)
	}
	return targets, nil
}

// onlyQuarterTurns reports whether every cos and sin is 0, 1 or -1: products and sums of the rotation are
// then exact.
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

// rotation is one row x of 2*half elements turned by the angles of its position.
type rotation struct {
	rules              truth.Contract
	x, cos, sin        []float64
	sign               float64
	d                  op.DType
	interleaved, exact bool
}

// fill computes out1 = x1*cos - x2*sin and out2 = x2*cos + x1*sin of every pair.
func (r rotation) fill(out truth.Row) {
	half := len(r.cos)
	for j := range half {
		first, second := j, j+half
		if r.interleaved {
			first, second = 2*j, 2*j+1
		}
		a, b, cos, sin := r.x[first], r.x[second], r.cos[j], r.sin[j]*r.sign
		out.R[first], out.T[first], out.TFP32[first], out.Sim[first] = r.element(a, b, cos, -sin)
		out.R[second], out.T[second], out.TFP32[second], out.Sim[second] = r.element(b, a, cos, sin)
	}
	truth.RoundRow(out.Sim, out.Sim, r.d)
}

// element computes a*cos + b*sin with the error bound
//
//	T = 4*u32*(|a|+|b|) + 2^-149
//
// two products and a sum; the last term for products that are subnormal. Eager casts cos and sin to the dtype
// first and stores both products: + 2*u*(|a*cos| + |b*sin|) plus the loss of storing below the normal range.
// sim is not yet rounded to the output.
func (r rotation) element(a, b, cos, sin float64) (value, t, tFP32, sim float64) {
	value = float64(a*cos) + float64(b*sin)
	sim = value
	if r.exact || a == 0 && b == 0 {
		return value, 0, 0, sim
	}
	tFP32 = 4*judge.U32*(math.Abs(a)+math.Abs(b)) + truth.Subnormal
	t = tFP32
	if r.rules.EveryStep {
		u, lost := truth.Unit(r.d), truth.HalfSubnormal(r.d)
		t += (2*u+u*u)*(math.Abs(a*cos)+math.Abs(b*sin)) + (2+math.Abs(a)+math.Abs(b))*lost
		low := func(x float64) float64 { return tensor.Round(r.d, x, false) }
		sim = low(a*low(cos)) + low(b*low(sin))
	}
	return value, t, tFP32, sim
}
