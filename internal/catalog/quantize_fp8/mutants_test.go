package quantize_fp8

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/fp8"
	"triad/internal/truth/truthtest"
)

var suites = []truthtest.Suite{{
	Op: "quantize_fp8", Pass: op.Forward, Kernel: emulated, Right: []truthtest.Arithmetic{{}},
	Mutants: []truthtest.Mutant{
		{Number: 1, Name: "truncates"},
		{Number: 2, Name: "halves away from zero", Equivalent: longNumbers},
		{Number: 3, Name: "divides by the stored scale", Equivalent: unlessDeepseek},
		{Number: 4, Name: "factor as a reciprocal of the scale", Equivalent: unlessInE4M3},
		{Number: 5, Name: "scale with the other recipe's least amax"},
		{Number: 6, Name: "no least amax"},
		{Number: 7, Name: "largest number of the other format"},
		{Number: 8, Name: "power of two on the other side", Equivalent: unlessPowers},
		{Number: 9, Name: "nearest power of two", Equivalent: unlessPowers},
		{Number: 10, Name: "stores the inverse"},
		{Number: 11, Name: "scale of the group before", Equivalent: ofTensors},
		{Number: 12, Name: "tail of a row left out of the scale"},
		{Number: 13, Name: "largest without its sign"},
		{Number: 14, Name: "NaN lost in the largest"},
		{Number: 15, Name: "tail of a row not written"},
		{Number: 16, Name: "-0 becomes 0"},
		{Number: 17, Name: "subnormals become 0"},
		{Number: 18, Name: "product in 16 bits", Equivalent: shortNumbers},
		{Number: 19, Name: "scale in 16 bits", Equivalent: ofPowers},
		{Number: 20, Name: "one scale for the tensor", Equivalent: ofTensors},
		{Number: 21, Name: "codes of the transpose with the scales of the rows", Equivalent: unlessRows},
		{Number: 22, Name: "transpose not turned", Equivalent: unlessTurned},
	},
}}

// unless returns the reason why a bug shows nothing in the cases with a value of an attribute.
func unless(reasons map[string]string) func(truthtest.Group) string {
	return func(g truthtest.Group) string { return reasons[g.Attribute+"="+g.Value] }
}

var (
	unlessDeepseek = unless(map[string]string{
		"recipe=torchao": "it multiplies by what it stores",
		"powers=true":    "a power of two has an exact reciprocal",
	})
	unlessInE4M3 = unless(map[string]string{
		"recipe=torchao": "it multiplies by what it stores",
		"powers=true":    "a power of two has an exact reciprocal",
		"format=e5m2":    "the fp32 places that differ decide no code of numbers of few bits",
	})
	unlessPowers = unless(map[string]string{"powers=false": "no scale is made a power of two"})
	ofPowers     = unless(map[string]string{"powers=true": "powers of two have no digits to lose"})
	ofTensors    = unless(map[string]string{"per=tensor": "there is one scale"})
	unlessTurned = unless(map[string]string{"both=false": "there is no transpose"})
	unlessRows   = unless(map[string]string{
		"both=false": "there is no transpose",
		"per=tensor": "a group of the transpose is a group of x",
		"per=tile":   "a group of the transpose is a group of x",
	})
)

// shortNumbers: times a power of two, a number keeps the digits that bf16 has.
func shortNumbers(g truthtest.Group) string {
	if g.Dtype == "bf16" {
		return ofPowers(g)
	}
	return ""
}

// longNumbers: a number of 24 bits lies halfway between two of fp8 by design alone.
func longNumbers(g truthtest.Group) string {
	if g.Dtype != "fp32" {
		return ""
	}
	return unless(map[string]string{
		"powers=true":    "the cases with such numbers have scales that are no powers of two",
		"recipe=torchao": "the cases with such numbers are of the other recipe",
	})(g)
}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// kernel computes what the truth states, with a bug.
type kernel struct {
	truthtest.Arithmetic
	fp8.Recipe
	per string
	low op.DType
}

func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	x, rows, cols := p.Matrix("x")
	k := kernel{a, recipeOf(p.Case), p.Attrs.Text("per"), p.Low()}
	q, scale := k.side(x, rows, cols, nil)
	if p.Attrs.Number("both") == 0 {
		return [][]float64{q, scale, nil, nil}
	}
	turned := make([]float64, len(x))
	for i, v := range x {
		turned[i%cols*rows+i/cols] = v
	}
	if a.Bug == "transpose not turned" {
		copy(turned, x)
	}
	var factors []float64
	if a.Bug == "codes of the transpose with the scales of the rows" {
		height, width, _, across := k.shape(rows, cols)
		amax := k.largest(x, rows, cols)
		factors = make([]float64, len(x))
		for i := range x {
			_, factors[i%cols*rows+i/cols] = k.steps(amax[i/cols/height*across+i%cols/width])
		}
	}
	qt, scaleT := k.side(turned, cols, rows, factors)
	return [][]float64{q, scale, qt, scaleT}
}

// shape returns the height and width of a group, and the number of groups down and across.
func (k kernel) shape(rows, cols int) (height, width, down, across int) {
	across, tiles := (cols+fp8.Side-1)/fp8.Side, (rows+fp8.Side-1)/fp8.Side
	switch k.per {
	case "tensor":
		return max(rows, 1), max(cols, 1), 1, 1
	case "block":
		return 1, fp8.Side, rows, across
	case "tile":
		return fp8.Side, fp8.Side, tiles, across
	}
	return 1, max(cols, 1), rows, 1
}

// largest returns amax of each group.
func (k kernel) largest(x []float64, rows, cols int) []float64 {
	height, width, down, across := k.shape(rows, cols)
	amax := make([]float64, down*across)
	for i, v := range x {
		tail := i%cols >= cols/truthtest.Vector*truthtest.Vector
		if k.Bug == "tail of a row left out of the scale" && tail {
			continue
		}
		of := &amax[i/cols/height*across+i%cols/width]
		if k.Bug == "NaN lost in the largest" && math.IsNaN(v) ||
			k.Bug == "largest without its sign" && v < 0 {
			continue
		}
		*of = max(*of, math.Abs(v))
	}
	if k.Bug == "one scale for the tensor" {
		all := 0.0
		for _, a := range amax {
			all = max(all, a)
		}
		for g := range amax {
			amax[g] = all
		}
	}
	return amax
}

// side returns the codes and scales of a matrix; factors, where there are any, replace those of its groups.
func (k kernel) side(x []float64, rows, cols int, factors []float64) (q, scales []float64) {
	height, width, _, across := k.shape(rows, cols)
	var of []float64
	for _, a := range k.largest(x, rows, cols) {
		stored, factor := k.steps(a)
		scales, of = append(scales, stored), append(of, factor)
	}
	for i, v := range x {
		g := i/cols/height*across + i%cols/width
		if k.Bug == "scale of the group before" {
			g = max(g-1, 0)
		}
		factor := of[g]
		if factors != nil {
			factor = factors[i]
		}
		q = append(q, k.number(v, factor, scales[g]))
	}
	if k.Bug == "tail of a row not written" {
		truthtest.LeaveTail(q, rows, cols)
	}
	return q, scales
}

// steps is Recipe.Scale with a bug.
func (k kernel) steps(amax float64) (stored, factor float64) {
	r := k.Recipe
	switch k.Bug {
	case "scale with the other recipe's least amax":
		if r.DeepSeek {
			if amax < 1e-4 { // as with a least amax of 1e-12
				a := max(float32(amax), 1e-12)
				s, f := a/r.Most(), r.Most()/a
				return float64(s), float64(f)
			}
		} else {
			amax = max(amax, 1e-4)
		}
	case "no least amax":
		if amax == 0 {
			return 0, math.Inf(1)
		}
	case "largest number of the other format":
		if r.Format == op.E4M3 {
			r.Format = op.E5M2
		} else {
			r.Format = op.E4M3
		}
	case "power of two on the other side", "nearest power of two":
		r.Powers = false
		stored, factor = r.Scale(amax)
		if !k.Powers || stored == 0 || math.IsNaN(stored) || math.IsInf(stored, 0) {
			return stored, factor
		}
		fraction, exponent := math.Frexp(stored) // stored = fraction * 2^exponent, fraction from 1/2
		up := !r.DeepSeek
		if k.Bug == "nearest power of two" {
			up = fraction >= 0.75
		}
		if up && fraction > 0.5 {
			exponent++
		}
		stored = math.Ldexp(0.5, exponent)
		if r.DeepSeek {
			return stored, 1 / stored
		}
		return stored, stored
	}
	stored, factor = r.Scale(amax)
	switch k.Bug {
	case "factor as a reciprocal of the scale":
		factor = truthtest.F32(1 / stored)
		if !r.DeepSeek {
			factor = stored
		}
	case "stores the inverse":
		stored = truthtest.F32(1 / stored)
	case "scale in 16 bits":
		stored = tensor.Round(op.BF16, stored, false)
	}
	return stored, factor
}

// number is Recipe.Code with a bug.
func (k kernel) number(x, factor, stored float64) float64 {
	product := truthtest.F32(x * factor)
	switch k.Bug {
	case "divides by the stored scale":
		if k.DeepSeek {
			product = truthtest.F32(x / stored)
		}
	case "product in 16 bits":
		product = tensor.Round(op.BF16, product, false)
	case "truncates":
		return k.truncated(product)
	case "halves away from zero":
		product = math.Nextafter(product, math.Copysign(math.Inf(1), product))
		return tensor.Round(k.Format, max(-float64(k.Most()), min(product, float64(k.Most()))), false)
	}
	y := k.Code(product, 1)
	if k.Bug == "-0 becomes 0" {
		y += 0
	}
	if least, _ := k.limits(); k.Bug == "subnormals become 0" && math.Abs(y) < least {
		return math.Copysign(0, y)
	}
	return y
}

// limits returns the least normal number of the format, and 2 to the number of its mantissa bits.
func (k kernel) limits() (least, steps float64) {
	if k.Format == op.E5M2 {
		return 0x1p-14, 4
	}
	return 0x1p-6, 8
}

// truncated returns a product rounded toward 0.
func (k kernel) truncated(product float64) float64 {
	if math.IsNaN(product) || product == 0 {
		return product
	}
	least, steps := k.limits()
	_, exponent := math.Frexp(max(math.Abs(product), least))
	unit := math.Ldexp(0.5, exponent) / steps
	return k.Code(math.Copysign(math.Floor(math.Abs(product)/unit)*unit, product), 1)
}
