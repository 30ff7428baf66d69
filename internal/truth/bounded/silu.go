package bounded

import (
	"math"

	"triad/internal/judge"
	"triad/internal/truth"
)

// overflowed is the error where exp(-g) overflows fp32: the sigmoid is then below 2^-128 and becomes 0.
const overflowed = 0x1p-128

func sigmoid(g float64) float64 { return 1 / (1 + math.Exp(-g)) }

// bend returns the second derivative of silu, at most 1/2.
func bend(g float64) float64 {
	s, rest := sigmoid(g), sigmoid(-g)
	return s * rest * (2 + float64(g*(rest-s)))
}

// Silu returns g*sigmoid(g) of a number that may be off by d, with the error bound
//
//	min(|silu'(g)|*d + d^2/4, 1.1*d) + u32*(2|g|+12)*|silu| + |g|*2^-128 + (1+|g|)*2^-149
//
// silu' is at most 1.1, its derivative at most 1/2.
func Silu(g Number) Number {
	of := func(g float64) float64 { return g * sigmoid(g) }
	r, a, rise := of(g.R), math.Abs(g.R), math.Abs(slope(g.R))
	own := judge.U32*(2*a+12)*math.Abs(r) + a*overflowed + (1+a)*truth.Subnormal
	if a+g.T == 0 {
		own = 0
	}
	moved := func(d float64) float64 { return math.Min(rise*d+d*d/4, 1.1*d) + own }
	return Number{r, moved(g.T), moved(g.TFP32), of(g.Sim)}
}

func slope(g float64) float64 {
	return sigmoid(g) * (1 + float64(g*sigmoid(-g)))
}

// SiluSlope returns silu'(g) = s*(1 + g*(1-s)), s = sigmoid(g), of a number that may be off by d, with the
// error bound
//
//	min(|bend(g)|*d + 0.16*d^2, d/2) + u32*((2|g|+16)*s*(1+|g|(1-s)) + 3*s*|g|) + (1+|g|)*2^-128
//
// where bend is the second derivative of silu. The third derivative is at most 0.31.
func SiluSlope(g Number) Number {
	a, s, rest, rise := math.Abs(g.R), sigmoid(g.R), sigmoid(-g.R), math.Abs(bend(g.R))
	own := judge.U32*((2*a+16)*s*(1+a*rest)+3*s*a) + (1+a)*overflowed
	moved := func(d float64) float64 { return math.Min(rise*d+0.16*d*d, d/2) + own }
	return Number{slope(g.R), moved(g.T), moved(g.TFP32), slope(g.Sim)}
}
