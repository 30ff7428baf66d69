package nvfp4gemv

import (
	"math"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

func newCase(t *testing.T, distribution string, m, k int64) (*op.Spec, op.Case) {
	t.Helper()
	o, err := truth.Get("nvfp4_gemv")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "e2m1x2", Distribution: distribution},
		map[string]int64{"m": m, "k": k}, map[string]string{"alpha": "0.25"})
	if err != nil {
		t.Fatal(err)
	}
	return o.Spec, c
}

// TestOneRow: one row by hand: the first number of a byte is its low half, and each 16 have their scale.
func TestOneRow(t *testing.T) {
	_, c := newCase(t, "normal", 1, 32)
	codes := func(name string, bytes map[int]float64, shape ...int64) tensor.Tensor {
		all := make([]float64, 16)
		for at, code := range bytes {
			all[at] = code
		}
		return truthtest.Literal(name, op.E2M1x2, all, shape...)
	}
	in := []tensor.Tensor{
		codes("a", map[int]float64{0: 0x71, 7: 0xf0, 8: 0x0a}, 1, 16), // 0.5, 6; 0, -6; -1, 0
		truthtest.Literal("scale_a", op.E4M3, []float64{2, 448}, 1, 2),
		codes("x", map[int]float64{0: 0x23, 7: 0x4e, 8: 0x05}, 16), // 1.5, 1; -4, 2; 3, 0
		truthtest.Literal("scale_x", op.E4M3, []float64{4, 0.5}, 2),
	}
	want := 0.25 * (8*(0.5*1.5+6*1-6*2) + 224*(-1*3))
	if got := truthtest.TruthFor(t, c, "fp32", in).Outputs[0].R[0]; got != want {
		t.Errorf("y = %v, want %v", got, want)
	}
}

// TestInputs: the largest of every 16 numbers fills the format, scales reach both ends of theirs under
// extremes, and under integers every sum is exact.
func TestInputs(t *testing.T) {
	seen := map[float64]bool{}
	for _, distribution := range []string{"normal", "integers", "extremes", "zeros"} {
		spec, c := newCase(t, distribution, 30, 64)
		in := truth.Inputs(truthtest.CaseInputs(t, spec, c, 7))
		all, scales := tensor.DecodeE2M1(in.Get("a").Packed(), 30*64), in.Get("scale_a").Float64s()
		if len(scales) != 30*64/group || !slices.Equal(in.Get("a").Shape, []int64{30, 32}) {
			t.Fatalf("%s: a %v, %d scales", distribution, in.Get("a").Shape, len(scales))
		}
		for g, scale := range scales {
			own := all[group*g : group*(g+1)]
			top := math.Max(slices.Max(own), -slices.Min(own))
			switch distribution {
			case "normal":
				if top != 6 || scale <= 0 {
					t.Errorf("normal: the largest of group %d is %v, scale %v", g, top, scale)
				}
			case "integers":
				whole := !slices.ContainsFunc(own, func(v float64) bool { return v != math.Trunc(v) })
				if !whole || scale != 1 && scale != 0.5 && scale != 0.25 {
					t.Errorf("integers: %v by %v", own, scale)
				}
			case "extremes":
				seen[scale] = true
			case "zeros":
				if top != 0 || scale != 0 {
					t.Errorf("zeros: %v by %v", own, scale)
				}
			}
		}
		y := truthtest.TruthFor(t, c, "fp32", in).Outputs[0]
		if y.Exact != (distribution == "integers") {
			t.Errorf("%s: exact %t", distribution, y.Exact)
		}
	}
	if !seen[448] || !seen[0x1p-9] {
		t.Errorf("scales under extremes: %v", seen)
	}
}
