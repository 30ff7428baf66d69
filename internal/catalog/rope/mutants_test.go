package rope

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

// variants: products and sum rounded each, and a fused multiply-add.
var variants = []truthtest.Arithmetic{{}, {Other: true}}

var suites = []truthtest.Suite{
	{Op: "rope", Pass: op.Forward, Right: variants, Kernel: emulated, Mutants: []truthtest.Mutant{
		{Number: 1, Name: "pairs of the other kind"},
		{Number: 2, Name: "sign"},
		{Number: 3, Name: "next position"},
		{Number: 6, Name: "cos and sin in bf16"},
		{Number: 8, Name: "half of the pairs rotated"},
		{Number: 9, Name: "cos and sin swapped"},
		{Number: 10, Name: "last position clamped"},
		{Number: 11, Name: "tail not written"},
	}},
	{Op: "rope", Pass: op.Backward, Right: variants, Kernel: emulatedBackward, Mutants: []truthtest.Mutant{
		{Number: 1, Name: "positive angle"},
		{Number: 2, Name: "only q rotated"},
		{Number: 3, Name: "stride of k used for q"},
		{Number: 4, Name: "offset lost"},
	}},
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	return [][]float64{rotate(a, p, "q", "k", 1), rotate(a, p, "k", "q", 1)}
}

func emulatedBackward(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	sign := -1.0
	if a.Bug == "positive angle" {
		sign = 1
	}
	out := [][]float64{rotate(a, p, "grad_q_out", "grad_k_out", sign), rotate(a, p, "grad_k_out",
		"grad_q_out", sign)}
	if a.Bug == "only q rotated" {
		out[1] = p.V["grad_k_out"]
	}
	return out
}

// rotate turns every pair of an input [batch, seq, heads, dim]; beside is the other one of q and k.
func rotate(a truthtest.Arithmetic, p *truthtest.Prepared, name, beside string, sign float64) []float64 {
	x, shape := p.V[name], p.In[name].Shape
	seq, heads, dim := int(shape[1]), int(shape[2]), int(shape[3])
	cos, sin, half, positions := p.V["cos"], p.V["sin"], dim/2, int(p.In["cos"].Shape[0])
	interleaved, offset := p.Attrs.Number("interleaved") != 0, int(p.Attrs.Number("offset"))
	switch a.Bug {
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
	if a.Bug == "stride of k used for q" && name == "grad_q_out" {
		stride = int(p.In[beside].Shape[2])
	}
	y := make([]float64, len(x))
	for row := range len(x) / dim {
		token, head := row/heads, row%heads
		position := offset + token%seq
		switch {
		case a.Bug == "next position":
			position = min(position+1, positions-1)
		case a.Bug == "last position clamped" && token%seq == seq-1:
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
			case a.Bug == "cos and sin in bf16":
				c, s = tensor.Round(op.BF16, c, false), tensor.Round(op.BF16, s, false)
			case a.Bug == "half of the pairs rotated" && i >= half/2:
				c, s = 1, 0
			}
			x1, x2 := x[(from+first)%len(x)], x[(from+second)%len(x)]
			y[to+first], y[to+second] = combine(a, x1, c, -x2, s), combine(a, x2, c, x1, s)
		}
	}
	if a.Bug == "tail not written" {
		for i := len(y) / truthtest.Vector * truthtest.Vector; i < len(y); i++ {
			y[i] = truthtest.Unwritten
		}
	}
	return y
}

// combine returns x*c + y*s in fp32, by two products and a sum or by a fused multiply-add.
func combine(a truthtest.Arithmetic, x, c, y, s float64) float64 {
	if a.Other {
		return truthtest.F32(math.FMA(x, c, truthtest.F32(y*s)))
	}
	return truthtest.F32(truthtest.F32(x*c) + truthtest.F32(y*s))
}
