package truth_test

import (
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
	"triad/internal/workload"
)

// matrixShape is found in the text of a shape of two dims or more: "[rows, cols]", but not "[1] (a=x), [n]
// (a=y)".
var matrixShape = regexp.MustCompile(`\[[^\]]*,`)

// sampledOutputs returns the outputs of a pass that have rows to choose from: matrices, and vectors with an
// element for each row of the first output.
func sampledOutputs(s *op.Spec, pass op.Pass) []string {
	_, outputs := s.Tensors(pass)
	rows, _, _ := strings.Cut(outputs[0].ShapeText(), "]")
	rows = rows[:max(strings.LastIndex(rows, ","), 0)]
	var names []string
	for _, o := range outputs {
		if text := o.ShapeText(); matrixShape.MatchString(text) || strings.TrimSuffix(text, "]") == rows {
			names = append(names, o.Name)
		}
	}
	return names
}

// TestSampledTruthIsPartOfTheWhole: the rows and columns computed for a sample equal those of the whole
// truth, bit for bit, for every operator, pass, dtype, attribute and contract.
func TestSampledTruthIsPartOfTheWhole(t *testing.T) {
	for _, o := range truth.All() {
		plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick, Dims: o.Spec.Check.Truth.Sampled})
		if err != nil || len(plan.Cases) == 0 {
			t.Fatalf("%s: %d cases, %v", o.Spec.Name, len(plan.Cases), err)
		}
		partial := map[string]bool{}
		for _, c := range plan.Cases {
			in := truthtest.CaseInputs(t, o.Spec, c, 1)
			for _, k := range contracts(t) {
				if k.Name != o.Spec.DefaultContract(c.DType) && !o.Spec.Permits(c.DType, k.Name) {
					continue
				}
				whole := truthtest.TruthFor(t, c, k.Name, in)
				part, err := truth.Of(c, k.Name, in, &truth.Sample{Rows: 3, Seed: 5})
				if err != nil {
					t.Fatalf("%s %s: %v", c.Key(), k.Name, err)
				}
				for i, p := range part.Outputs {
					if p.Index != nil {
						partial[p.Name] = true
					}
					if at := differing(whole.Outputs[i], p); at >= 0 {
						t.Errorf("%s %s: %s: sampled element %d is not that of the whole", c.Key(),
							k.Name, p.Name, at)
					}
				}
			}
		}
		for _, pass := range o.Spec.Passes() {
			for _, name := range sampledOutputs(o.Spec, pass) {
				if !partial[name] {
					t.Errorf("%s: no case had a sample of %s: [check.truth] sampled names larger sizes",
						o.Spec.Name, name)
				}
			}
		}
	}
}

// differing returns the first judged element at which a sampled truth differs from the whole; -1: none.
func differing(whole, part judge.Target) int {
	for i := range part.R {
		at := i
		if part.Index != nil {
			at = int(part.Index[i])
		}
		for k, x := range [][]float64{whole.R, whole.T, whole.TFP32, whole.Sim} {
			y := [][]float64{part.R, part.T, part.TFP32, part.Sim}[k][i]
			if math.Float64bits(x[at]) != math.Float64bits(y) && !(math.IsNaN(x[at]) && math.IsNaN(y)) &&
				x[at] != y {
				return i
			}
		}
	}
	return -1
}

// TestSavedIsTheSimulatedForward: the tensors that a driver saves for a backward are the simulated result of
// the whole truth, although less is computed.
func TestSavedIsTheSimulatedForward(t *testing.T) {
	compared := 0
	for _, o := range truth.All() {
		if o.Spec.Backward == nil {
			continue
		}
		plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick, Passes: []op.Pass{op.Backward}})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range plan.Cases {
			if c.Saved != "driver" {
				continue
			}
			in, err := workload.Inputs(o.Spec, c, 1)
			if err != nil {
				t.Fatal(err)
			}
			saved, err := truthtest.Saved(o.Spec, c, in)
			if err != nil {
				t.Fatal(err)
			}
			c.Pass, c.Upstream, c.Saved = op.Forward, "", ""
			whole := truthtest.TruthFor(t, c, o.Spec.DefaultContract(c.DType), in)
			for _, s := range saved {
				i := slices.IndexFunc(whole.Outputs, func(o judge.Target) bool { return o.Name == s.Name })
				if !slices.Equal(s.Data, tensor.Encode(s.DType, whole.Outputs[i].Sim)) {
					t.Errorf("%s: %s is not the simulated one", c.Key(), s.Name)
				}
				compared++
			}
		}
	}
	if compared < 30 {
		t.Errorf("%d tensors were compared", compared)
	}
}
