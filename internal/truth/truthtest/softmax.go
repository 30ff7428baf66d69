package truthtest

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
)

// Weight returns the weight e^x of a softmax.
func (a Arithmetic) Weight(x float32) float32 {
	if a.Bug == "exp2 without log2(e)" {
		return float32(math.Exp2(float64(x)))
	}
	return float32(a.Exp(float64(x)))
}

// StoredWeight returns a weight as it enters the next product of operands of dtype d.
func (a Arithmetic) StoredWeight(d op.DType, w float32) float32 {
	switch {
	case a.Bug == "P in e4m3":
		return float32(tensor.Round(op.E4M3, float64(w), true))
	case a.Bug == "P in bf16":
		return float32(tensor.Round(op.BF16, float64(w), false))
	case a.LowP && d != op.FP32:
		return float32(tensor.Round(d, float64(w), false))
	}
	return w
}

// Accumulate adds w times the first elements of x to an fp32 sum.
func (a Arithmetic) Accumulate(to []float32, w float32, x []float64) {
	for c := range to {
		to[c] += w * float32(x[c])
		if a.Bug == "sums in bf16" || a.Bug == "o accumulated in bf16" {
			to[c] = float32(tensor.Round(op.BF16, float64(to[c]), false))
		}
	}
}

// NoScore is the largest of no scores.
var NoScore = float32(math.Inf(-1))

// Base returns what is subtracted from scores of which the largest is most: -inf - -inf would be NaN.
func Base(most float32) float32 {
	if most == NoScore {
		return 0
	}
	return most
}

// Online is the softmax of a row of scores that a kernel takes in steps, and the sum of values that it
// weights.
type Online struct {
	Arithmetic
	D           op.DType  // of the operands of the product with values
	Tile        int       // a multiple of this many scores make a step: the last ones may be padding
	O           []float32 // fp32, not normalised
	Most, Total float32   // the largest score, and the sum of weights
}

// Online begins a row, whose sum o holds zeros.
func (a Arithmetic) Online(d op.DType, tile int, o []float32) Online {
	s := Online{Arithmetic: a, D: d, Tile: tile, O: o, Most: NoScore}
	switch a.Bug {
	case "maximum begins at 0":
		s.Most = 0
	case "-5e4 for -inf":
		s.Most = -5e4
	}
	return s
}

// Step takes scores and the values, which value returns by their place among the scores: earlier sums are
// rescaled to the new maximum.
func (s *Online) Step(scores []float32, value func(x int) []float64) {
	before := s.Most
	for _, score := range scores {
		s.Most = max(s.Most, score)
	}
	padding := (s.Tile - len(scores)%s.Tile) % s.Tile
	if s.Bug == "padding of scores 0" && padding > 0 {
		s.Most = max(s.Most, 0)
	}
	base := Base(s.Most)
	decay := s.Weight(before - base)
	if s.Bug != "total not rescaled" {
		s.Total *= decay
	}
	for c := range s.O {
		if s.Bug != "sum not rescaled" {
			s.O[c] *= decay
		}
	}
	if s.Bug == "padding of scores 0" {
		s.Total += s.Weight(-base) * float32(padding)
	}
	for x, score := range scores {
		e := s.Weight(score - base)
		s.Total += e
		s.Accumulate(s.O, s.StoredWeight(s.D, e), value(x))
	}
}

// Normalise divides the sum by the weights.
func (s *Online) Normalise() {
	for c := range s.O {
		if s.Bug != "not normalised" {
			s.O[c] = float32(s.Fast(float64(s.O[c] / s.Total)))
		}
	}
}

// LSE returns the logarithm of the sum of the scores' exponentials, NaN where every score is -inf.
func (s *Online) LSE() float32 {
	logL := float32(math.Log(float64(s.Total)))
	switch {
	case s.Most == NoScore:
		return float32(math.NaN())
	case s.Bug == "lse without log l":
		return s.Most
	case s.Bug == "lse in base 2":
		return (s.Most + logL) * float32(math.Log2E)
	}
	return s.Most + logL
}

// Wide returns fp32 numbers in fp64.
func Wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
