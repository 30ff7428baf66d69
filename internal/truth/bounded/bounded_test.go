package bounded

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFunctionsOfNumbersThatAreOff: silu and its slope stay within their error bound wherever a number may
// be, and the error bound of a small error is not many times the change that it causes.
func TestFunctionsOfNumbersThatAreOff(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for name, f := range map[string]struct {
		of    func(g Number) Number
		exact func(g float64) float64
	}{
		"gated": {Silu, func(g float64) float64 { return g / (1 + math.Exp(-g)) }},
		"slope": {SiluSlope, slope},
	} {
		for range 20000 {
			g := 6 * r.NormFloat64()
			off := math.Abs(g) * math.Exp2(-20*r.Float64())
			got := f.of(Number{R: g, T: off, Sim: g})
			worst := 0.0
			for _, moved := range []float64{g - off, g - off/2, g + off/2, g + off} {
				worst = math.Max(worst, math.Abs(f.exact(moved)-got.R))
			}
			if !(worst <= got.T) {
				t.Fatalf("%s of %v off by %v: moves by %v, allowed %v", name, g, off, worst, got.T)
			}
			small := f.of(Number{R: g, T: 1e-4, TFP32: 1e-4, Sim: g})
			if limit := 1.1*1e-4 + 1e-4; !(small.T <= limit && small.TFP32 <= small.T) {
				t.Fatalf("%s of %v off by 1e-4: allowed %v and %v, want at most %v", name, g, small.T,
					small.TFP32, limit)
			}
		}
	}
}

// TestProductsOfNumbersThatAreOff: a product moves by no more than its error bound, and 0 times anything is
// 0.
func TestProductsOfNumbersThatAreOff(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		a, b := r.NormFloat64(), r.NormFloat64()
		s, u := math.Exp2(-20*r.Float64()), math.Exp2(-20*r.Float64())
		p := Product(Number{R: a, T: s}, Number{R: b, T: u})
		up, down := a+s, a-s
		for _, moved := range []float64{up * (b + u), down * (b - u), up * (b - u), down * (b + u)} {
			if off := math.Abs(moved - a*b); !(off <= p.T && p.T <= 4*(s+u)*(1+math.Abs(a)+math.Abs(b))) {
				t.Fatalf("%v off by %v times %v off by %v: moves by %v, allowed %v", a, s, b, u, off, p.T)
			}
		}
	}
	if p := Product(Exactly(0), Number{R: 3, T: 1}); p.T != 0 {
		t.Errorf("0 times 3 off by 1: allowed %v, want 0", p.T)
	}
}
