package catalog

import (
	"testing"
	"time"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/workload"
)

// caseInputs makes what the truth of a case starts from.
func caseInputs(t *testing.T, spec *op.Spec, c op.Case, seed uint64) []tensor.Tensor {
	t.Helper()
	in, err := workload.Inputs(spec, c, seed)
	if err != nil {
		t.Fatal(err)
	}
	if c.Pass == op.Forward || c.Saved == "own" {
		return in
	}
	saved, err := Saved(spec, c, in)
	if err != nil {
		t.Fatalf("%+v: %v", c, err)
	}
	ordered, err := BackwardInputs(spec, append(in, saved...))
	if err != nil {
		t.Fatal(err)
	}
	return ordered
}

// TestEveryCaseHasATruth: on every case of the default level, under the default contract, there is a truth, finite where it has to be, and it
// accepts its own simulated contract; most cases can tell right from wrong.
func TestEveryCaseHasATruth(t *testing.T) {
	level := op.LevelDefault
	if testing.Short() {
		level = op.LevelQuick
	}
	for _, o := range All() {
		t.Run(o.Spec.Name, func(t *testing.T) {
			plan, err := o.Spec.Expand(op.Options{Level: level})
			if err != nil {
				t.Fatal(err)
			}
			powerless, outputs, exact := 0, 0, 0
			var spent, longest time.Duration
			for _, c := range plan.Cases {
				in := caseInputs(t, o.Spec, c, 1)
				start := time.Now()
				truth, err := TruthOf(c, o.Spec.DefaultContract(c.DType), in, nil)
				took := time.Since(start)
				spent, longest = spent+took, max(longest, took)
				if err != nil {
					t.Errorf("%+v: %v", c, err)
					continue
				}
				for i, v := range judged(truth, sims(truth)...) {
					if v.Status != op.StatusPass && v.Status != op.StatusEmptyOK {
						t.Errorf("%s %s %v %v %s %s %s: %v %s: %s", c.Op, c.Pass, c.Dims, c.Attrs, c.Distribution, c.Upstream, c.Saved, v.Status, v.Gate, v.Sentence)
					}
					if v.Status == op.StatusEmptyOK {
						continue
					}
					outputs++
					if truth.Outputs[i].Exact {
						exact++
					}
					if p := judge.PowerOf(truth.Outputs[i], nil, nil); p.None {
						powerless++
					}
				}
			}
			t.Logf("%d cases, %d outputs, %d exact, %d without power; truth %v, longest %v", len(plan.Cases), outputs, exact, powerless, spent, longest)
			if powerless*4 > outputs {
				t.Errorf("%d of %d outputs are without power", powerless, outputs)
			}
		})
	}
}
