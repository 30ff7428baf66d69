// Package dropout is the truth of dropout, whose choice is bits of Philox-4x32-10: the mask is exact.
package dropout

import (
	"math"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/workload"
)

var _ = truth.Register("dropout", truth.Definition{
	Forward: forward, Backward: backward, Permits: []string{"fp32"}, Whole: true,
})

// rule determines which elements of a case are kept, and their multiplier.
type rule struct {
	seed, offset uint64
	threshold    uint32
	factor       float64 // an fp32 number: float(1 / (1 - p)) of the fp32 p
}

func ruleOf(attributes op.Attrs) rule {
	p := float64(float32(attributes.Number("p")))
	return rule{
		seed: uint64(attributes.Number("seed")), offset: uint64(attributes.Number("offset")),
		threshold: uint32(math.RoundToEven(p * 0x1p32)), factor: float64(float32(1 / (1 - p))),
	}
}

// words returns the random words of the four elements from 4*block on.
func (r rule) words(block int64) [4]uint32 {
	counter := r.offset + uint64(block)
	return workload.Philox4x32([4]uint32{uint32(counter), uint32(counter >> 32)},
		[2]uint32{uint32(r.seed), uint32(r.seed >> 32)})
}

// keep calls work with the places of elements that are kept, of n from a multiple of 4 on.
func (r rule) keep(first int64, n int, work func(i int)) {
	for i := 0; i < n; i += 4 {
		for j, word := range r.words((first + int64(i)) / 4) {
			if i+j < n && word >= r.threshold {
				work(i + j)
			}
		}
	}
}

// keeps calls work with the places of elements that are kept, of n from first on, a multiple of 4.
type keeps func(first int64, n int, work func(i int))

// dropped computes output = factor * input where it is kept, else 0. T = 2*u32*|R|, for the factor and the
// product: a kernel may divide by 1 - p. At p = 0 it copies, T = 0.
func dropped(k *truth.Request, input, output string, keep keeps) (judge.Target, error) {
	x, err := k.Rank(input, 1)
	if err != nil {
		return judge.Target{}, err
	}
	r := ruleOf(k.Attrs)
	y := k.FlatTarget(output, x.DType, x.Elements())
	memory := func() []float64 { return make([]float64, truth.FlatRow) }
	truth.FillFlat(k, y, memory, func(own []float64, first int64, out truth.Row) {
		own = own[:len(out.R)]
		x.DecodeRow(own, 0, first)
		keep(first, len(own), func(i int) {
			out.R[i] = own[i] * r.factor
			if r.factor != 1 && own[i] != 0 && truth.IsFinite(own[i]) {
				out.T[i] = 2*judge.U32*math.Abs(out.R[i]) + truth.Subnormal
			}
			out.TFP32[i] = out.T[i]
		})
		truth.RoundRow(out.Sim, out.R, x.DType)
	})
	return y, nil
}

func forward(k *truth.Request) ([]judge.Target, error) {
	r := ruleOf(k.Attrs)
	y, err := dropped(k, "x", "y", r.keep)
	if err != nil {
		return nil, err
	}
	mask := k.FlatTarget("mask", op.Bool, y.Shape[0])
	truth.FillFlat(
		k,
		mask,
		func() struct{} { return struct{}{} },
		func(_ struct{}, first int64, out truth.Row) {
			r.keep(first, len(out.R), func(i int) { out.R[i], out.Sim[i] = 1, 1 })
		},
	)
	return []judge.Target{y, mask}, nil
}

func backward(k *truth.Request) ([]judge.Target, error) {
	r := ruleOf(k.Attrs)
	grad, err := dropped(k, "grad_y", "grad_x", r.keep)
	if err != nil {
		return nil, err
	}
	formula := grad
	grad.Depends = func(gave judge.Gave) judge.Target {
		y := gave("y")
		if y == nil || int64(len(y)) != formula.Elements()*formula.DType.Size() {
			return formula
		}
		own := choice(tensor.Decode(formula.DType, y))
		if !own.plausible(float64(float32(k.Attrs.Number("p")))) {
			return formula
		}
		chosen, err := dropped(k, "grad_y", "grad_x", own.keep)
		if err != nil {
			return formula
		}
		return chosen
	}
	return []judge.Target{grad}, nil
}

// choice is a forward's output on ones with its own random numbers: 0 where it drops an element.
type choice []float64

func (c choice) keep(first int64, n int, work func(i int)) {
	for i, y := range c[first : first+int64(n)] {
		if y != 0 {
			work(i)
		}
	}
}

// plausible reports whether the kept share fits a probability p: the number of dropped elements has a
// standard deviation of sqrt(n*p*(1-p)), and eight of them never occur by chance. One element more allows for
// small n.
func (c choice) plausible(p float64) bool {
	kept := 0.0
	c.keep(0, len(c), func(int) { kept++ })
	n := float64(len(c))
	return math.Abs(kept-n*(1-p)) <= 8*math.Sqrt(n*p*(1-p))+1
}
