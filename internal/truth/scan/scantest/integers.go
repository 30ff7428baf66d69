package scantest

import (
	"math"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth/scan"
	"triad/internal/truth/truthtest"
)

// addsIntegers reports whether a case adds integers.
func addsIntegers(p *truthtest.Prepared) bool { return p.DType == op.I32.String() }

// ofIntegers and ofFractions return why a bug has no effect in a group, for a mutant's Equivalent.
func ofIntegers(g truthtest.Group) string {
	if g.Dtype == op.I32.String() {
		return ""
	}
	return "a bug of integers"
}

func ofFractions(g truthtest.Group) string {
	if g.Dtype != op.I32.String() {
		return ""
	}
	return "integers have none of this"
}

// arithmeticOf returns the addition of a kernel, and what 16 bits keep of a value.
func arithmeticOf(bug string, p *truthtest.Prepared) (
	add func(a, b float64) float64, narrow func(float64) float64,
) {
	add = func(a, b float64) float64 { return truthtest.F32(a + b) }
	narrow = func(v float64) float64 { return tensor.Round(p.Low(), v, false) }
	if addsIntegers(p) {
		narrow = func(v float64) float64 { return float64(int16(int64(v))) }
		switch bug {
		case inFP32:
			last := func(v float64) float64 { return min(v, math.MaxInt32) }
			add = func(a, b float64) float64 { return last(truthtest.F32(a + b)) }
		case saturated:
			add = func(a, b float64) float64 { return min(max(a+b, math.MinInt32), math.MaxInt32) }
		default:
			add = func(a, b float64) float64 { return scan.Wrapped(int64(a + b)) }
		}
	}
	if bug == lowAccumulator {
		whole := add
		add = func(a, b float64) float64 { return narrow(whole(a, b)) }
		if !addsIntegers(p) {
			add = func(a, b float64) float64 { return narrow(a + b) }
		}
	}
	return add, narrow
}

// wholeTerms returns the terms of integers.
func (f family) wholeTerms(p *truthtest.Prepared) []float64 {
	terms := make([]float64, len(p.V[f.inputs[0]]))
	at := make([]int64, len(f.inputs))
	for i := range terms {
		for j, name := range f.inputs {
			at[j] = int64(p.V[name][i])
		}
		terms[i] = float64(f.Whole(at))
	}
	return terms
}
