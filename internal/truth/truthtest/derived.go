package truthtest

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"slices"

	"triad/internal/casegaps"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// A derived mutant answers a case like an implementation that makes the mistake of one casegaps.Question:
// with the simulated contract of the call as the mistake sees it, or with the right answer and the mistake in
// it.

// derived is one case for derived mutants.
type derived struct {
	Prepared
	spec *op.Spec
	list []tensor.Tensor
	sims [][]float64
	// the outputs of the first case with these sizes; nil: this is the first
	earlier [][]float64
	partsOf map[string][]judge.Truth // see parts
}

// answer returns the mutant's outputs, and whether they differ from the right ones.
func (d *derived) answer(q casegaps.Question) ([][]float64, bool) {
	var values [][]float64
	switch q.Kind {
	case casegaps.Previous:
		values = d.earlier
	case casegaps.Attribute, casegaps.Strides, casegaps.Offset, casegaps.Numbers:
		values = d.mistaken(q)
	case casegaps.Index16:
		if q.OnOutputs(d.spec, d.Case) {
			values = d.wrapped(q)
		} else {
			values = d.mistaken(q)
		}
	default:
		values = slices.Clone(d.sims)
		i := d.output(q.Subject)
		values[i] = d.spoilt(q, i)
	}
	return values, values != nil && d.differs(values)
}

// differs reports whether the stored outputs are not the right ones.
func (d *derived) differs(values [][]float64) bool {
	for i, o := range d.Launch(values, "a").Outputs {
		if !bytes.Equal(o.Data, d.right[i]) {
			return true
		}
	}
	return false
}

func (d *derived) output(name string) int {
	return slices.IndexFunc(d.Truth.Outputs, func(t judge.Target) bool { return t.Name == name })
}

// mistaken returns the simulated outputs of the call that the mutant sees; nil where it sees the right one,
// or one that has no answer.
func (d *derived) mistaken(q casegaps.Question) [][]float64 {
	c, in, differs := q.Call(d.spec, d.Case, d.list)
	if !differs {
		return nil
	}
	return d.simulated(c, in)
}

// simulated returns the simulated contract of a call that may not be the right one; nil where it has no
// answer, or outputs of other sizes.
func (d *derived) simulated(c op.Case, in []tensor.Tensor) [][]float64 {
	given, err := d.truthOf(c, in)
	if err != nil { // it has NaN or infinities, which the case does not declare
		c.Distribution = "non_finite"
		if given, err = d.truthOf(c, in); err != nil {
			return nil
		}
	}
	values := Sims(given)
	for i := range values {
		if len(values[i]) != len(d.sims[i]) {
			return nil
		}
	}
	return values
}

// truthOf computes the truth of a call that may be wrong: a mistake may lead out of a tensor, where no kernel
// has an answer.
func (d *derived) truthOf(c op.Case, in []tensor.Tensor) (given judge.Truth, err error) {
	panicked := panics.Call(func() { given, err = truth.Of(c, d.Truth.Contract, in, nil) })
	return given, cmp.Or(panicked, err)
}

// reads reports whether the outputs change with an input.
func (d *derived) reads(i int) bool {
	in, x := slices.Clone(d.list), d.list[i]
	if x.Elements() == 0 {
		return false
	}
	v := x.Float64s()
	slices.Reverse(v)
	if x.DType.IsFloat() {
		for at := range v {
			v[at] = v[at]/2 + 1
		}
	}
	in[i] = tensor.New(x.Name, x.DType, x.Shape)
	in[i].SetFloat64s(v)
	values := d.simulated(d.Case, in)
	return values != nil && d.differs(values)
}

// wrapped returns outputs whose elements beyond the first 65,536 along a size are those that a 16-bit index
// reaches instead.
func (d *derived) wrapped(q casegaps.Question) [][]float64 {
	types := casegaps.TypesOf(d.spec, d.Case)
	values := make([][]float64, len(d.sims))
	for i, o := range d.Truth.Outputs {
		values[i] = slices.Clone(d.sims[i])
		casegaps.Wrap(values[i], types[o.Name], q.Subject)
	}
	return values
}

// spoilt returns one output with the mistake in it.
func (d *derived) spoilt(q casegaps.Question, i int) []float64 {
	target, y := d.Truth.Outputs[i], slices.Clone(d.sims[i])
	switch q.Kind {
	case casegaps.First:
		y[0] = off(target, y[0])
	case casegaps.Last, casegaps.Multiple, casegaps.Threads, casegaps.Ragged:
		y[len(y)-1] = off(target, y[len(y)-1])
	case casegaps.Period:
		for at := 1<<q.Power - 1; at < len(y); at += 1 << q.Power {
			y[at] = off(target, y[at])
		}
	case casegaps.Above16:
		for at := 1 << 16; at < len(y); at++ {
			y[at] = off(target, y[at])
		}
	case casegaps.Unwritten:
		for at := range y {
			y[at] = Unwritten
		}
	case casegaps.Confused:
		other := d.sims[d.output(q.Value)]
		for at := range y {
			y[at] = other[at%len(other)]
		}
	case casegaps.HalfAway:
		for at, r := range target.R {
			y[at] = halfAway(target, r, y[at])
		}
	case casegaps.Sum16:
		d.sum16(q, i, y)
	}
	return y
}

// off returns a number that no error bound accepts for x: for an integer the next one, or the one before.
func off(t judge.Target, x float64) float64 {
	switch low, high := tensor.IntegerRange(t.DType); {
	case math.IsNaN(x) || math.IsInf(x, 0):
		return 0
	case t.DType.IsFloat():
		return -(2*x + math.Copysign(1, x))
	case x+1 <= high:
		return x + 1
	default:
		return max(x-1, low)
	}
}

// halfAway returns r, as fp32 holds it, rounded to the nearest number of the output's dtype, and away from
// zero where two are as near.
func halfAway(t judge.Target, r, right float64) float64 {
	f, ok := tensor.FormatOf(t.DType)
	r = F32(r)
	if !ok || !truth.IsFinite(r) || math.Abs(r) > f.Max {
		return right
	}
	return math.Round(r/f.ULP(r)) * f.ULP(r)
}

// sumBlocks is the number of partial sums of a sum in 16 bits.
const sumBlocks = 16

// sum16 replaces y by a sum whose partial sums are rounded to 16 bits. An element that changes only once or
// twice is no sum over the size.
func (d *derived) sum16(q casegaps.Question, i int, y []float64) {
	sum, before, steps := make([]float64, len(y)), make([]float64, len(y)), make([]int64, len(y))
	parts := d.parts(q.Value)
	for _, part := range parts {
		for at, r := range part.Outputs[i].R {
			if r != before[at] {
				steps[at]++
			}
			sum[at] = d.round16(d.Truth.Outputs[i].DType, sum[at]+(r-before[at]))
			before[at] = r
		}
	}
	for at, s := range sum {
		if truth.IsFinite(d.Truth.Outputs[i].R[at]) && steps[at] > 2 {
			y[at] = s
		}
	}
}

// parts returns the truths of a case whose inputs are 0 from an index along a size on, the whole one last;
// nil where one of them has no answer, or outputs of other sizes.
func (d *derived) parts(size string) []judge.Truth {
	if parts, ok := d.partsOf[size]; ok {
		return parts
	}
	if d.partsOf == nil {
		d.partsOf = map[string][]judge.Truth{}
	}
	d.partsOf[size] = nil
	terms, _ := d.spec.Size(d.Dims, size)
	blocks := min(terms, sumBlocks)
	var parts []judge.Truth
	for b := int64(1); b <= blocks; b++ {
		part, err := d.truthOf(d.Case, d.upTo(size, terms*b/blocks))
		if err != nil {
			return nil
		}
		for i, o := range part.Outputs {
			if len(o.R) != len(d.sims[i]) {
				return nil
			}
		}
		parts = append(parts, part)
	}
	d.partsOf[size] = parts
	return parts
}

// round16 keeps a partial sum of an output in 16 bits.
func (d *derived) round16(output op.DType, x float64) float64 {
	if output.IsFloat() {
		return tensor.Round(d.Low(), x, false)
	}
	return float64(int16(int64(x)))
}

// upTo returns the inputs with 0 from an index along a size on.
func (d *derived) upTo(size string, end int64) []tensor.Tensor {
	types, in := casegaps.TypesOf(d.spec, d.Case), slices.Clone(d.list)
	for i, x := range in {
		t := types[x.Name]
		axis := slices.Index(t.Sizes, size)
		if axis < 0 || !casegaps.Summed(t) {
			continue
		}
		inner := int64(1)
		for _, n := range t.Shape[axis+1:] {
			inner *= n
		}
		v := x.Float64s()
		for at := range v {
			if int64(at)/inner%t.Shape[axis] >= end {
				v[at] = 0
			}
		}
		in[i] = tensor.New(x.Name, x.DType, x.Shape)
		in[i].SetFloat64s(v)
	}
	return in
}

// kills reports whether the judge rejects the answer, by an output that every implementation gives or that
// the mistake is about.
func (d *derived) kills(q casegaps.Question, values [][]float64) bool {
	verdicts, _ := d.Judged(values)
	var shown []judge.Verdict
	for i, o := range d.Plan.Outputs {
		if !o.Optional || q.OfOptional {
			shown = append(shown, verdicts[i])
		}
	}
	return judge.Row(shown) == op.StatusFail
}

// sizes names the sizes of a case's outputs.
func (d *derived) sizes() string {
	text := ""
	for _, o := range d.Truth.Outputs {
		text += fmt.Sprint(o.DType, o.Shape)
	}
	return text
}
