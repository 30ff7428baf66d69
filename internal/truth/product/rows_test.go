package product_test

import (
	"math"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/product"
)

// TestRows checks the error bound of a sum of two products, of integers and with a subnormal factor.
func TestRows(t *testing.T) {
	factor := func(d op.DType, values ...float64) product.Numbers {
		x := tensor.New("x", d, []int64{int64(len(values))})
		x.SetFloat64s(values)
		return product.NumbersOf(x)
	}
	of := func(distribution string, a, b product.Numbers, addend float64) judge.Target {
		k := truth.Request{Case: op.Case{Distribution: distribution}}
		rows := product.Rows{
			A: a, B: b, Terms: 3, Addend: func(int64) float64 { return addend },
			Add: func(out, a, b []float64, _ int64) { out[0] += a[0]*b[0] + a[1]*b[1] },
		}
		return rows.Target(&k, "y", op.FP16, []int64{1, 1})
	}
	g := judge.U32 * judge.G(3)
	tiny := 0x1p-24 // the smallest subnormal of fp16
	for name, c := range map[string]struct {
		got     judge.Target
		r, want float64
	}{
		"terms": {of("normal", factor(op.FP16, 1, -2), factor(op.FP16, 3, 4), 0.5), -4.5, g * 11.5},
		"whole": {of("integers", factor(op.FP16, 1, -2), factor(op.FP16, 3, 4), 5), 0, 0},
		"addend of a half": {
			of("integers", factor(op.FP16, 1, -2), factor(op.FP16, 3, 4), 0.5), -4.5, g * 11.5,
		},
		"subnormal": {
			of("normal", factor(op.FP16, tiny, 1), factor(op.FP16, 1024, 1), 0), 1 + 0x1p-14,
			g*(1+0x1p-14) + 17*judge.U32*0x1p-14*1024,
		},
		"subnormal in fp32": {
			of("normal", factor(op.FP32, tiny, 1), factor(op.FP32, 1024, 1), 0), 1 + 0x1p-14,
			g * (1 + 0x1p-14),
		},
	} {
		if c.got.R[0] != c.r || math.Abs(c.got.T[0]-c.want) > 1e-9*c.want+1e-40 {
			t.Errorf("%s: R %v, T %v: want %v and %v", name, c.got.R[0], c.got.T[0], c.r, c.want)
		}
	}
}
