package planted

import (
	"math"
	"testing"

	"triad/internal/truth/formula"
)

// TestNaNStays: NaN stays NaN through every operation of every right kernel: a GPU's functions and quotients
// keep it.
func TestNaNStays(t *testing.T) {
	x := formula.In("x")
	for _, n := range []*formula.Node{
		x.Plus(x), x.Minus(formula.C(1)), x.Times(x), formula.C(1).Over(x), x.Neg(), x.Exp(), x.Erf(),
		x.Tanh(), x.Sigmoid(), x.AtMost(formula.C(0), formula.C(0), x),
		x.Above(formula.C(0), formula.C(1), x),
	} {
		for _, k := range Kernels {
			if got := k.Prepare(n, "x").Element([]float64{math.NaN()}); !math.IsNaN(got) {
				t.Errorf("%v of NaN is %v in %+v", n, got, k)
			}
		}
	}
}
