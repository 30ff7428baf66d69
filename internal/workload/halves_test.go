package workload

import (
	"math"
	"slices"
	"testing"

	"triad/internal/op"
)

// If integers are halves, the largest row of a tensor makes the step of 8 bits a power of two, in one mode
// and in the other, and quotients lie halfway; under ties both ends do. The test reads the values in steps.
func TestHalvesOfSteps(t *testing.T) {
	all := everySpec(t)
	s := all[slices.IndexFunc(all, func(s *op.Spec) bool { return s.Check.Integers == "halves" })]
	for distribution, want := range map[string][2]float64{"integers": {-0.5, 127}, "ties": {-127.5, 127.5}} {
		for seed := range uint64(4) {
			c := makeCase(t, s, op.Case{Pass: op.Forward, DType: "bf16", Distribution: distribution},
				map[string]int64{"rows": 6, "cols": 200}, map[string]string{"per": "row"})
			x := inputs(t, s, c, seed)["x"].Float64s()
			half, small := 0, 0
			for r := range 6 {
				row := x[200*r : 200*r+200]
				if slices.Max(row) < 0x1p-11 {
					small++
					if low, high := slices.Min(row)*0x1p20, slices.Max(row)*0x1p20; low != -127 ||
						high != 0.5 {
						t.Errorf("%s: a small row from %v to %v", distribution, low, high)
					}
					continue
				}
				low, high := slices.Min(row)*0x1p11, slices.Max(row)*0x1p11
				if low != want[0] || high != want[1] {
					t.Errorf("%s: a row from %v to %v, want %v", distribution, low, high, want)
				}
				for _, v := range row {
					if _, fraction := math.Modf(v * 0x1p11); math.Abs(fraction) == 0.5 {
						half++
					}
				}
			}
			if small != 3 || half < 30 {
				t.Errorf("%s: %d small rows, %d halves", distribution, small, half)
			}
		}
	}
}
