// Package quantizeint8 is the truth of numbers made int8, with the scale and the zero point that belong to
// them.
package quantizeint8

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

var _ = truth.Register("quantize_int8", truth.Definition{Forward: forward, Permits: []string{"fp32"}})

// forward returns the truth of the scales, that of the zero points under the kernel's scales, and that of q
// under the kernel's scales and zero points.
func forward(k *truth.Request) ([]judge.Target, error) {
	x, err := k.Rank("x", 2)
	if err != nil {
		return nil, err
	}
	a := asked{x: x, chosen: k.Sample.Choose(x.Shape[0])}
	a.asymmetric, a.perRow = k.Attrs.Text("mode") == "asymmetric", k.Attrs.Text("per") == "row"
	groups, chosen := int64(1), []int64(nil)
	if a.perRow {
		groups, chosen = x.Shape[0], a.chosen
	}
	a.ranges = a.rangesOf(chosen)
	a.scale = k.RowStatistic("scale", groups, chosen)
	a.scale.Independent, a.scale.Uniform = false, !a.perRow
	for i, g := range a.ranges {
		r, t := g.scale(a.asymmetric)
		truth.SetOne(a.scale, int64(i), r, t)
	}
	a.zero = k.RowStatistic("zero", 0, nil)
	if a.asymmetric {
		a.zero = k.RowStatistic("zero", groups, chosen)
	}
	a.zero.DType, a.zero.FTZ, a.zero.Independent, a.zero.Uniform = op.I32, false, false, !a.perRow
	a.q = k.Target("q", op.I8, x.Shape, a.chosen)
	a.q.TFP32, a.q.Independent = a.q.T, false
	zero, q := a.under(func(string) []byte { return nil })
	zero.Depends = func(gave judge.Gave) judge.Target { z, _ := a.under(gave); return z }
	q.Depends = func(gave judge.Gave) judge.Target { _, q := a.under(gave); return q }
	return []judge.Target{q, a.scale, zero}, nil
}

// asked holds what the targets follow from; q and zero are without their truth.
type asked struct {
	x                  tensor.Tensor
	chosen             []int64 // the rows that are judged; nil: all
	asymmetric, perRow bool
	ranges             []extent // of the judged rows, or of the tensor
	q, scale, zero     judge.Target
}

// extent is the smallest range of a group that contains 0.
type extent struct{ low, high float64 }

// rangesOf returns the ranges of rows, nil for all, or that of the whole tensor.
func (a *asked) rangesOf(rows []int64) []extent {
	n := a.x.Shape[0]
	if rows != nil {
		n = int64(len(rows))
	}
	all := make([]extent, n)
	memory := func() []float64 { return make([]float64, a.x.Shape[1]) }
	truth.EachRowWith(rows, n, memory, func(own []float64, i, r int64) {
		a.x.DecodeRow(own, r, 0)
		for _, v := range own {
			all[i] = extent{min(all[i].low, v), max(all[i].high, v)}
		}
	})
	if a.perRow {
		return all
	}
	var whole extent
	for _, e := range all {
		whole = extent{min(whole.low, e.low), max(whole.high, e.high)}
	}
	return []extent{whole}
}

// leastScale is the smallest normal fp32 number.
const leastScale = 0x1p-126

// scale returns the step of a group. T = 4*u32*R: amax/127 is rounded once, as a product with 1/127 twice,
// and the difference of two quotients, neither of which is below 0, three times.
func (g extent) scale(asymmetric bool) (r, t float64) {
	switch {
	case g.low == 0 && g.high == 0:
		return 1, 0
	case asymmetric:
		r = max(g.high/255-g.low/255, leastScale)
	default:
		r = max(g.high/127, -g.low/127, leastScale)
	}
	return r, 4 * judge.U32 * r
}

// under returns zero and q given the scales and zero points of a kernel. Where it gave none, or a wrong one,
// those of the simulated contract are used.
func (a *asked) under(gave judge.Gave) (zero, q judge.Target) {
	scales := judged(a.scale, gave("scale"), a.scale.Sim)
	zero, q = filled(a.zero), filled(a.q)
	for i := range zero.R {
		below := code{scale: scales[i], zero: math.MinInt8}
		zero.R[i], zero.T[i], zero.Sim[i] = below.of(-a.ranges[i].low)
		if a.x.Elements() == 0 { // no element determines which
			zero.R[i], zero.T[i] = -0.5, 127.5
		}
	}
	zeros := judged(zero, gave("zero"), zero.Sim)
	cols := a.x.Shape[1]
	memory := func() []float64 { return make([]float64, cols) }
	truth.EachRowWith(a.chosen, a.x.Shape[0], memory, func(own []float64, i, r int64) {
		a.x.DecodeRow(own, r, 0)
		group := int64(0)
		if a.perRow {
			group = i
		}
		to := code{scale: scales[group]}
		if a.asymmetric {
			to.zero = zeros[group]
			if gave("zero") == nil { // which of the right zero points is not known
				low, high := zero.Interval(zero.R[group], zero.T[group])
				to.slack = high - low
			}
		}
		out := truth.RowOf(q, i, cols)
		for c, v := range own {
			out.R[c], out.T[c], out.Sim[c] = to.of(v)
		}
	})
	return zero, q
}

// filled returns a target with a truth of its own, of zeros.
func filled(t judge.Target) judge.Target {
	n := len(t.R)
	t.R, t.T, t.Sim = make([]float64, n), make([]float64, n), make([]float64, n)
	t.TFP32 = t.T
	return t
}

// judged returns the judged elements of an output, as a kernel gave them where they are right.
func judged(t judge.Target, data []byte, otherwise []float64) []float64 {
	if int64(len(data)) != t.Elements()*t.DType.Size() {
		return otherwise
	}
	all, out := tensor.Decode(t.DType, data), make([]float64, len(t.R))
	for i := range out {
		at := int64(i)
		if t.Index != nil {
			at = t.Index[i]
		}
		low, high := t.Interval(t.R[i], t.T[i])
		if out[i] = all[at]; !(low <= out[i] && out[i] <= high) {
			out[i] = otherwise[i]
		}
	}
	return out
}

// code quantises numbers of a group to int8.
type code struct{ scale, zero, slack float64 }

// of returns clamp(RN(x/scale) + zero), with the error bound
//
//	T = 4*u32*|x/scale|
//
// for a quotient, or for a product with the reciprocal, and the operations on it. Where the scale is a power
// of two, both are exact, T is 0, and halves are rounded to even. A result beyond int8 is the nearest end.
func (c code) of(x float64) (r, t, sim float64) {
	quotient := x / c.scale
	sim = clamped(math.RoundToEven(quotient) + c.zero)
	if fraction, _ := math.Frexp(c.scale); fraction == 0.5 && c.slack == 0 {
		return sim, 0, sim
	}
	r, t = quotient+c.zero, 4*judge.U32*math.Abs(quotient)+c.slack
	if r-t > math.MaxInt8+0.5 || r+t < math.MinInt8-0.5 {
		t = 0
	}
	return clamped(r), t, sim
}

func clamped(x float64) float64 { return max(math.MinInt8, min(math.MaxInt8, x)) }
