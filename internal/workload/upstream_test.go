package workload

import (
	"math"
	"slices"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// An expanded upstream gradient is one number at one place, as the backward of a sum passes it; a kernel that
// takes it for contiguous reads NaN. The layout of the inputs is unchanged.
func TestExpandedUpstream(t *testing.T) {
	seen := 0
	for _, s := range everySpec(t) {
		if !slices.Contains(s.UpstreamLayouts(), "expanded") {
			continue
		}
		plan, err := s.Expand(op.Options{
			Level: op.LevelQuick, Passes: []op.Pass{op.Backward}, DTypes: s.PassDTypes(op.Backward)[:1],
			Upstreams: []string{"expanded"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range mustInputs(t, s, plan.Cases[0]) {
			if x.Elements() <= 1 {
				continue // there is nothing to expand
			}
			upstream := strings.HasPrefix(x.Name, "grad_")
			if upstream != slices.ContainsFunc(x.Stride, func(n int64) bool { return n == 0 }) {
				t.Errorf("%s: %s has strides %v", s.Name, x.Name, x.Stride)
			}
			if bytes := x.Elements() * x.DType.Size(); int64(len(x.Data)) != bytes {
				t.Errorf("%s: the storage of %s has %d bytes, want %d", s.Name, x.Name, len(x.Data), bytes)
			}
			for i, v := range tensor.Decode(x.DType, x.Data) {
				if upstream && math.IsNaN(v) != (i > 0) {
					t.Fatalf("%s: the storage of %s holds %v at %d", s.Name, x.Name, v, i)
				}
			}
			seen++
		}
	}
	if seen == 0 {
		t.Error("no upstream gradient was expanded")
	}
}

func mustInputs(t *testing.T, s *op.Spec, c op.Case) []tensor.Tensor {
	t.Helper()
	made, err := Inputs(s, c, defaultSeed)
	if err != nil {
		t.Fatal(err)
	}
	return made
}
