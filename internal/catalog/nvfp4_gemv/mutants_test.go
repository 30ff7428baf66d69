package nvfp4gemv

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/truthtest"
)

var suites = []truthtest.Suite{{
	Op: "nvfp4_gemv", Pass: op.Forward, Kernel: emulated,
	// scales applied to every product, or once to a group, or alpha in the scales of x; orders of sums
	Right: []truthtest.Arithmetic{
		{Form: 0},
		{Form: 1},
		{Form: 2},
		{Form: 0, Order: truthtest.InLanes},
		{Form: 1, Order: truthtest.InLanes},
	},
	Mutants: []truthtest.Mutant{
		{Number: 1, Name: "halves of a byte of a exchanged"},
		{Number: 2, Name: "signs of a ignored"},
		{Number: 3, Name: "0.5 read as 0"},
		{Number: 4, Name: "0.5 read as a normal number"},
		{Number: 5, Name: "6 read as 8"},
		{Number: 6, Name: "scale of the next group of a"},
		{Number: 7, Name: "scales of row 0"},
		{Number: 8, Name: "scales of a by columns"},
		{Number: 9, Name: "scale of 32 numbers of x"},
		{Number: 10, Name: "scales of x missing"},
		{Number: 11, Name: "scales of a with a bias of 8"},
		{Number: 12, Name: "scales of a rounded to powers of two"},
		{Number: 13, Name: "subnormal scales as 0"},
		{Number: 14, Name: "largest scale 240"},
		{Number: 15, Name: "last group dropped"},
		{Number: 16, Name: "last group of an odd number dropped"},
		{Number: 17, Name: "first 32 numbers twice"},
		{Number: 18, Name: "fp16 accumulator"},
		{Number: 19, Name: "bf16 accumulator"},
		{Number: 20, Name: "alpha missing"},
		{Number: 21, Name: "alpha in bf16"},
		{Number: 22, Name: "alpha twice"},
		{Number: 23, Name: "sum in fp16 before alpha"},
		{Number: 24, Name: "tail of y not written"},
		{Number: 25, Name: "sums of a group in int8"},
	},
}}

func TestMutation(t *testing.T) { truthtest.Mutation(t, suites) }

// emulated computes the kernel with its bug.
func emulated(a truthtest.Arithmetic, p *truthtest.Prepared) [][]float64 {
	_, m, bytes := p.Matrix("a")
	e := emulation{a: a, p: p, groups: bytes / groupBytes, alpha: p.Attrs.Number("alpha")}
	switch a.Bug {
	case "alpha missing":
		e.alpha = 1
	case "alpha in bf16":
		e.alpha = tensor.Round(op.BF16, e.alpha, false)
	case "alpha twice":
		e.alpha = truthtest.F32(e.alpha * e.alpha)
	}
	y := make([]float64, m)
	for i := range y {
		y[i] = e.element(i)
	}
	if a.Bug == "tail of y not written" {
		truthtest.LeaveTail(y, 1, m)
	}
	return [][]float64{y}
}

type emulation struct {
	a      truthtest.Arithmetic
	p      *truthtest.Prepared
	groups int
	alpha  float64
}

// element returns y[row].
func (e emulation) element(row int) float64 {
	groups := e.groups
	if e.a.Bug == "last group dropped" || e.a.Bug == "last group of an odd number dropped" && groups%2 == 1 {
		groups--
	}
	total := e.total(groups, func(g int) float64 {
		if e.a.Bug == "first 32 numbers twice" && g < 2 {
			return 2 * e.part(row, g)
		}
		return e.part(row, g)
	})
	switch {
	case e.a.Bug == "sum in fp16 before alpha":
		total = tensor.Round(op.FP16, total, false)
	case e.a.Form == 2:
		return total
	}
	return truthtest.F32(total * e.alpha)
}

func (e emulation) total(groups int, part func(g int) float64) float64 {
	switch e.a.Bug {
	case "fp16 accumulator":
		return truthtest.SumLow(op.FP16, groups, part)
	case "bf16 accumulator":
		return truthtest.SumLow(op.BF16, groups, part)
	}
	return e.a.Sum(groups, part)
}

// part returns the sum of a group.
func (e emulation) part(row, g int) float64 {
	scale := e.scaleA(row, g) * e.scaleX(g)
	if e.a.Form == 2 {
		scale = truthtest.F32(scale * e.alpha)
	}
	product := func(i int) float64 {
		j := g*groupBytes + i/2
		return e.ofA(e.p.V["a"][row*e.groups*groupBytes+j], i%2) * numbers[int(e.p.V["x"][j])][i%2]
	}
	if e.a.Form == 1 {
		return truthtest.F32(e.a.Sum(group, product) * scale)
	}
	if e.a.Bug == "sums of a group in int8" {
		return truthtest.F32(float64(int8(4*e.a.Sum(group, product))) / 4 * scale)
	}
	return e.a.Sum(group, func(i int) float64 { return truthtest.F32(product(i) * scale) })
}

// ofA returns a number of a: the low half of a byte, or the high one.
func (e emulation) ofA(code float64, half int) float64 {
	if e.a.Bug == "halves of a byte of a exchanged" {
		half = 1 - half
	}
	v := numbers[int(code)][half]
	size := math.Abs(v)
	switch {
	case e.a.Bug == "signs of a ignored":
		return size
	case e.a.Bug == "0.5 read as 0" && size == 0.5:
		return 0
	case e.a.Bug == "0.5 read as a normal number" && size == 0.5:
		return math.Copysign(0.75, v)
	case e.a.Bug == "6 read as 8" && size == 6:
		return math.Copysign(8, v)
	}
	return v
}

func (e emulation) scaleA(row, g int) float64 {
	scales := e.p.V["scale_a"]
	at := row*e.groups + g
	switch e.a.Bug {
	case "scale of the next group of a":
		at = row*e.groups + (g+1)%e.groups
	case "scales of row 0":
		at = g
	case "scales of a by columns":
		at = (g*(len(scales)/e.groups) + row) % len(scales)
	}
	s := scales[at]
	switch {
	case e.a.Bug == "scales of a with a bias of 8":
		return s / 2
	case e.a.Bug == "scales of a rounded to powers of two" && s > 0:
		return math.Exp2(math.Round(math.Log2(s)))
	case e.a.Bug == "subnormal scales as 0" && s < 0x1p-6:
		return 0
	case e.a.Bug == "largest scale 240":
		return math.Min(s, 240)
	}
	return s
}

func (e emulation) scaleX(g int) float64 {
	switch e.a.Bug {
	case "scales of x missing":
		return 1
	case "scale of 32 numbers of x":
		g -= g % 2
	}
	return e.p.V["scale_x"][g]
}
