package tensor

import (
	"math"
	"math/rand/v2"
	"testing"

	"triad/internal/op"
)

// TestRoundAgainstLdexp compares with the slow definition: scale so that one ulp is 1, round to an integer,
// scale back.
func TestRoundAgainstLdexp(t *testing.T) {
	slow := func(f Format, x float64) float64 {
		_, e := math.Frexp(x)
		q := max(e-f.P, f.EMin-f.P+1)
		y := math.Ldexp(math.RoundToEven(math.Ldexp(x, -q)), q)
		if math.Abs(y) > f.Max {
			return math.Copysign(math.Inf(1), x)
		}
		return y
	}
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []op.DType{op.FP32, op.FP16, op.BF16, op.E4M3, op.E5M2} {
		f, _ := FormatOf(d)
		for range 200_000 {
			x := math.Ldexp(r.Float64()*2-1, r.IntN(2*(f.P-f.EMin)+8)+f.EMin-f.P-4)
			all := []float64{x}
			if f.RoundAll(all, all, false); math.Float64bits(all[0]) != math.Float64bits(f.Round(x, false)) {
				t.Fatalf("%v: RoundAll(%x) = %x, want %x", d, x, all[0], f.Round(x, false))
			}
			all[0] = x
			if f.RoundAll(all, all, true); math.Float64bits(all[0]) != math.Float64bits(f.Round(x, true)) {
				t.Fatalf("%v: RoundAll(%x), saturating, = %x, want %x", d, x, all[0], f.Round(x, true))
			}
			if got, want := f.Round(x, false), slow(f, x); got != want ||
				math.Signbit(got) != math.Signbit(want) {
				t.Fatalf("%v: round(%x) = %x, want %x", d, x, got, want)
			}
		}
	}
}

// TestRoundAtMidpoints walks every positive number of the narrow formats: each, each midpoint and both fp64
// neighbours of the midpoint.
func TestRoundAtMidpoints(t *testing.T) {
	for _, d := range []op.DType{op.FP16, op.BF16, op.E4M3, op.E5M2} {
		f, _ := FormatOf(d)
		even := true // of the lower number's last bit
		for x := 0.0; x < f.Max; even = !even {
			next := x + f.ULP(x)
			mid := x + f.ULP(x)/2
			tie := x
			if !even {
				tie = next
			}
			for _, c := range []struct{ in, want float64 }{
				{x, x},
				{mid, tie},
				{math.Nextafter(mid, 0), x},
				{math.Nextafter(mid, next), next},
			} {
				if got := f.Round(c.in, false); got != c.want {
					t.Fatalf("%v: round(%x) = %x, want %x", d, c.in, got, c.want)
				}
				if got := f.Round(-c.in, false); got != -c.want {
					t.Fatalf("%v: round(%x) = %x, want %x", d, -c.in, got, -c.want)
				}
			}
			x = next
		}
	}
}

func TestRoundOverflow(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct {
		d         op.DType
		stays, in float64
		saturated float64
	}{
		{op.FP16, math.Nextafter(65520, 0), 65520, 65504},
		{op.E4M3, 464, math.Nextafter(464, 500), 448},
		{op.E5M2, math.Nextafter(61440, 0), 61440, 57344},
		{op.FP32, math.Nextafter(0x1.ffffffp127, 0), 0x1.ffffffp127, math.MaxFloat32},
		{op.BF16, math.Nextafter(0x1.ffp127, 0), 0x1.ffp127, 0x1.fep127},
	} {
		if got := Round(c.d, c.stays, false); got != c.saturated {
			t.Errorf("%v: round(%v) = %v, want %v", c.d, c.stays, got, c.saturated)
		}
		if got := Round(c.d, -c.in, false); got != -inf {
			t.Errorf("%v: round(%v) = %v, want -inf", c.d, -c.in, got)
		}
		if got := Round(c.d, c.in, true); got != c.saturated {
			t.Errorf("%v: saturating round(%v) = %v, want %v", c.d, c.in, got, c.saturated)
		}
	}
	if got := Round(op.BF16, 1+0x1p-8+0x1p-40, false); got != 1.0078125 {
		t.Errorf("bf16: round(1+2^-8+2^-40) = %v, want 1.0078125: rounded twice", got)
	}
	if !math.IsNaN(Round(op.FP16, math.NaN(), true)) || Round(op.FP16, inf, true) != inf {
		t.Error("NaN and infinities must stay")
	}
}

// TestULPAgainstIlogb compares with the slow definition, at numbers of every magnitude, at powers of two and
// next to them.
func TestULPAgainstIlogb(t *testing.T) {
	slow := func(f Format, x float64) float64 {
		e := f.EMin
		if x != 0 {
			e = max(e, math.Ilogb(min(math.Abs(x), f.Max)))
		}
		return math.Ldexp(1, e-f.P+1)
	}
	for _, d := range []op.DType{op.FP64, op.FP32, op.FP16, op.BF16, op.E4M3, op.E5M2} {
		f, _ := FormatOf(d)
		for e := -1080; e <= 1023; e++ {
			x := math.Ldexp(1, e)
			for _, x := range []float64{
				x, -x, math.Nextafter(x, 0), math.Nextafter(x, 2*x), 1.7 * x, 0,
				math.Inf(1), math.MaxFloat64,
			} {
				if got, want := f.ULP(x), slow(f, x); got != want {
					t.Fatalf("%v: ulp(%x) = %x, want %x", d, x, got, want)
				}
			}
		}
	}
}
