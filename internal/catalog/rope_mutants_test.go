package catalog

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
)

// ropeVariants: products and sum rounded each, and a fused multiply-add.
var ropeVariants = []arithmetic{{}, {other: true}}

var _ = scored([]suite{
	{op: "rope", pass: op.Forward, right: ropeVariants, kernel: emulatedRope, mutants: []mutant{
		{1, "pairs of the other kind", nil},
		{2, "sign", nil},
		{3, "next position", nil},
		{6, "cos and sin in bf16", nil},
		{8, "half of the pairs rotated", nil},
		{9, "cos and sin swapped", nil},
		{10, "last position clamped", nil},
		{11, "tail not written", nil},
	}},
	{op: "rope", pass: op.Backward, right: ropeVariants, kernel: emulatedRopeBackward, mutants: []mutant{
		{1, "positive angle", nil},
		{2, "only q rotated", nil},
		{3, "stride of k used for q", nil},
		{4, "offset lost", nil},
	}},
})

func emulatedRope(a arithmetic, p *prepared) [][]float64 {
	return [][]float64{a.rotate(p, "q", "k", 1), a.rotate(p, "k", "q", 1)}
}

func emulatedRopeBackward(a arithmetic, p *prepared) [][]float64 {
	sign := -1.0
	if a.bug == "positive angle" {
		sign = 1
	}
	out := [][]float64{a.rotate(p, "grad_q_out", "grad_k_out", sign), a.rotate(p, "grad_k_out", "grad_q_out", sign)}
	if a.bug == "only q rotated" {
		out[1] = p.v["grad_k_out"]
	}
	return out
}

// rotate turns every pair of an input [batch, seq, heads, dim]; beside is the other one of q and k.
func (a arithmetic) rotate(p *prepared, name, beside string, sign float64) []float64 {
	x, shape := p.v[name], p.in[name].Shape
	seq, heads, dim := int(shape[1]), int(shape[2]), int(shape[3])
	cos, sin, half, positions := p.v["cos"], p.v["sin"], dim/2, int(p.in["cos"].Shape[0])
	interleaved, offset := p.Attrs.Number("interleaved") != 0, int(p.Attrs.Number("offset"))
	switch a.bug {
	case "pairs of the other kind":
		interleaved = !interleaved
	case "sign":
		sign = -sign
	case "cos and sin swapped":
		cos, sin = sin, cos
	case "offset lost":
		offset = 0
	}
	stride := heads
	if a.bug == "stride of k used for q" && name == "grad_q_out" {
		stride = int(p.in[beside].Shape[2])
	}
	y := make([]float64, len(x))
	for row := range len(x) / dim {
		token, head := row/heads, row%heads
		position := offset + token%seq
		switch {
		case a.bug == "next position":
			position = min(position+1, positions-1)
		case a.bug == "last position clamped" && token%seq == seq-1:
			position = max(position-1, 0)
		}
		from, to := (token*stride+head)*dim, row*dim
		for i := range half {
			first, second := i, i+half
			if interleaved {
				first, second = 2*i, 2*i+1
			}
			c, s := cos[position*half+i], sign*sin[position*half+i]
			switch {
			case a.bug == "cos and sin in bf16":
				c, s = tensor.Round(op.BF16, c, false), tensor.Round(op.BF16, s, false)
			case a.bug == "half of the pairs rotated" && i >= half/2:
				c, s = 1, 0
			}
			x1, x2 := x[(from+first)%len(x)], x[(from+second)%len(x)]
			y[to+first], y[to+second] = a.combine(x1, c, -x2, s), a.combine(x2, c, x1, s)
		}
	}
	if a.bug == "tail not written" {
		for i := len(y) / vector * vector; i < len(y); i++ {
			y[i] = unwritten
		}
	}
	return y
}

// combine is x*c + y*s in fp32, by two products and a sum or by a fused multiply-add.
func (a arithmetic) combine(x, c, y, s float64) float64 {
	if a.other {
		return f32(math.FMA(x, c, f32(y*s)))
	}
	return f32(f32(x*c) + f32(y*s))
}
