package run

import (
	"testing"

	"triad/internal/op"
	"triad/internal/truth"
)

// TestLargeCasesAreSampled: a product is judged in full while its truth is cheap, and on sampled rows beyond.
// The rows depend on the seed. An operator that works on rows is judged in full, however large.
func TestLargeCasesAreSampled(t *testing.T) {
	for _, c := range []struct {
		operator string
		dims     map[string]int64
		sampled  bool
	}{
		{"softmax", map[string]int64{"rows": 64, "cols": 131072}, false},
		{"softmax", map[string]int64{"rows": 65540, "cols": 32776}, false},
		{"gelu", map[string]int64{"n": 300_000_000}, false},
		{"fp8_gemm", map[string]int64{"m": 512, "n": 512, "k": 512}, false},
		{"fp8_gemm", map[string]int64{"m": 1024, "n": 1024, "k": 1024}, true},
	} {
		operator, err := truth.Get(c.operator)
		if err != nil {
			t.Fatal(err)
		}
		plan, err := operator.Spec.Expand(op.Options{
			Device: "gpu", Dims: c.dims,
			Passes: []op.Pass{op.Forward}, Level: op.LevelQuick,
		})
		if err != nil || len(plan.Cases) == 0 {
			t.Fatalf("%s: %d cases, %v", c.operator, len(plan.Cases), err)
		}
		w := work{operator: operator, Case: plan.Cases[0]}
		sample, err := sampleOf(w, 1)
		if err != nil || (sample != nil) != c.sampled {
			t.Fatalf("%s %v: sample %v, %v, want one: %v", c.operator, c.dims, sample, err, c.sampled)
		}
		if sample == nil {
			continue
		}
		again, _ := sampleOf(w, 1)
		other, _ := sampleOf(w, 2)
		if sample.Rows != sampledRows || again.Seed != sample.Seed || other.Seed == sample.Seed {
			t.Errorf("%s: %+v, again %+v, with another seed %+v", c.operator, sample, again, other)
		}
	}
}
