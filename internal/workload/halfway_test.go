package workload

import (
	"slices"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/tensor"
)

// Two tensors under halfway differ at just half of the places of whole blocks, and there the square of the
// difference lies below halfway between 1 and the next number, by less than a fiftieth of their distance.
func TestHalfway(t *testing.T) {
	at := slices.IndexFunc(catalog.All(), func(o *catalog.Operator) bool {
		return slices.Contains(o.Spec.Check.Distributions, "halfway") && len(o.Spec.InputSpecs) == 2
	})
	if at < 0 {
		t.Fatal("no operator of two tensors meets it")
	}
	s := catalog.All()[at].Spec
	first, second := s.InputSpecs[0].Name, s.InputSpecs[1].Name
	for _, dtype := range []string{"fp32", "fp16", "bf16"} {
		for seed := range uint64(20) {
			c := makeCase(t, s, op.Case{Pass: op.Forward, DType: dtype, Distribution: "halfway"},
				map[string]int64{s.Dims[0].Name: 2*walshLength + 100}, nil)
			drawn := inputs(t, s, c, seed)
			x, y, apart := drawn[first].Float64s(), drawn[second].Float64s(), 0
			f, _ := tensor.FormatOf(drawn[first].DType)
			for i := range x {
				if x[i] == y[i] {
					continue
				}
				apart++
				square := ((x[i]-y[i])*(x[i]-y[i]) - 1) / f.ULP(1)
				if !(square < 0.5 && square > 0.48) || i >= 2*walshLength {
					t.Fatalf("%s seed %d: element %d has a square of 1 + %v units", dtype, seed, i, square)
				}
			}
			if apart != walshLength {
				t.Errorf("%s seed %d: %d elements differ, want %d", dtype, seed, apart, walshLength)
			}
		}
	}
}
