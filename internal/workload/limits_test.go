package workload

import (
	"math"
	"slices"
	"strings"
	"testing"

	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/tensor"
)

// The limits hold for the inputs as they come out, with the numbers that are not scaled. For a chained
// backward those of its forward hold too.
func TestLimitsHoldForWhatIsKept(t *testing.T) {
	for _, o := range catalog.All() {
		s := o.Spec
		if !slices.Contains(s.Check.Distributions, "extremes") ||
			s.Backward != nil && len(s.Backward.Tensors) > 0 { // bounded tensors are quantised afterwards
			continue
		}
		plan, err := s.Expand(op.Options{Distributions: []string{"extremes"}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range plan.Cases {
			if n, _, err := s.Footprint(c); err != nil || n > 1200 {
				continue
			}
			for seed := range uint64(12) {
				limitsHold(t, s, c, seed)
			}
		}
	}
}

func limitsHold(t *testing.T, s *op.Spec, c op.Case, seed uint64) {
	t.Helper()
	x := inputs(t, s, c, seed)
	magnitude := func(name string) (float64, bool) {
		v, ok := x[name]
		largest := 0.0
		if ok {
			for _, e := range v.Float64s() {
				largest = max(largest, math.Abs(e))
			}
		}
		return largest, ok
	}
	first, _, _ := strings.Cut(c.DType, "_")
	d, err := op.ParseDType(first)
	if err != nil {
		t.Fatal(err)
	}
	format, known := tensor.FormatOf(d)
	if !known {
		return // integers have no limits
	}
	passes := []op.Pass{c.Pass}
	if c.Pass == op.Backward && s.Backward.Chained {
		passes = append(passes, op.Forward)
	}
	for _, c.Pass = range passes {
		bounds, err := s.Bounds(c, format.Max/2, magnitude)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range bounds {
			if b.Value > b.Limit*1.01 { // inputs are rounded to their dtype at last
				t.Errorf("%s %v %s %v, seed %d: %s is %v, want at most %v", c.Op, c.Pass, c.DType, c.Dims,
					seed, b.Text, b.Value, b.Limit)
			}
		}
	}
}
