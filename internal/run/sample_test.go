package run

import (
	"testing"

	"triad/internal/op"
	"triad/internal/timing"
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

// TestTimedCasesAreSampled: where an operator that works on rows is judged to be timed, a sample of its large
// outputs is judged: part of every operator's largest output, so that none is kept whole in memory. It is
// judged whole if a sample would be most of it.
func TestTimedCasesAreSampled(t *testing.T) {
	kept, drawn := keptElements, timedElements
	t.Cleanup(func() { keptElements, timedElements = kept, drawn })
	keptElements, timedElements = 1<<18, 1<<10
	sampled := map[string]bool{}
	for _, operator := range truth.All() {
		if !operator.Whole() {
			continue
		}
		plan, err := timing.BenchCases(operator.Spec, op.Options{Device: "gpu", Memory: 24 << 20})
		if err != nil {
			t.Fatal(err)
		}
		seen := map[op.Pass]bool{}
		for _, c := range plan.Cases {
			w := work{operator: operator, Case: c, bySample: true}
			sample, err := sampleOf(w, 1)
			if err != nil {
				t.Fatal(err)
			}
			if sample == nil || seen[c.Pass] {
				continue
			}
			seen[c.Pass] = true
			sampled[operator.Spec.Name] = true
			in, err := operator.Inputs(c, 1)
			if err != nil {
				t.Fatal(err)
			}
			if c.Saved == "driver" {
				t.Fatalf("%s %s is timed on saved tensors of the driver", c.Op, c.Pass)
			}
			whole, err := operator.TruthOf(c, operator.Spec.DefaultContract(c.DType), in, sample)
			if err != nil {
				t.Fatalf("%s: %v", describe(c), err)
			}
			for _, target := range whole.Outputs {
				if all := target.Elements(); all > keptElements && int64(target.Judged()) > all*3/4 {
					t.Errorf("%s: %d of %d elements of %s are judged, want a sample", describe(c),
						target.Judged(), all, target.Name)
				}
			}
		}
	}
	if len(sampled) < 20 {
		t.Errorf("only %v are sampled", sampled)
	}
}
