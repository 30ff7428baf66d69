package truth_test

import (
	"fmt"
	"slices"
	"testing"

	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
	"triad/internal/workload"
)

// TestZeroUpstream: where the upstream gradient is 0 every gradient of every operator is exactly 0. The fast
// tier takes a case of each operator and each origin of its saved tensors.
func TestZeroUpstream(t *testing.T) {
	for _, o := range truth.All() {
		if o.Spec.Backward == nil {
			continue
		}
		plan, err := o.Spec.Expand(op.Options{
			Level: op.LevelQuick, Passes: []op.Pass{op.Backward},
			Upstreams: []string{"zeros"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range plan.Cases {
			if !need.Chosen(t, fmt.Sprint(c.Op, " ", c.Key()), fmt.Sprint(c.Op, " ", c.Saved),
				slices.Concat(need.Operator(c.Op), need.Judge)...) {
				continue
			}
			in, err := workload.Inputs(o.Spec, c, 3)
			if err != nil {
				t.Fatal(err)
			}
			for _, truth := range truthtest.BackwardTruths(t, o, c, in) {
				for _, target := range truth.Outputs {
					for i := range target.R {
						if truthtest.ExactlyZero(t, fmt.Sprintf("%s %s %v %s %s", c.Op, c.DType, c.Dims,
							c.Saved, truth.Contract), target, i); t.Failed() {
							return
						}
					}
				}
			}
		}
	}
}
