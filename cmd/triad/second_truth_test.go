package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"

	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/worker"
	"triad/internal/workload"
	"triad/pybridge"
)

// agreement is how far the two truths may lie apart, relative to the sum of the magnitudes that an element is made of.
const agreement = 1e-12

// Two truths that share no code, ours in Go and torch's in fp64, agree on every element of every quick case, forward and backward.
func TestSecondTruth(t *testing.T) {
	python := os.Getenv("TRIAD_TEST_PYTHON")
	if python == "" {
		t.Skip("no Python with torch")
	}
	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	cache := t.TempDir()
	e, err := a.environment(environmentFlags{yes: true, offline: true}, false)
	if err != nil {
		t.Fatal(err)
	}
	e.Getenv = func(name string) string {
		if name == "TRIAD_PYTHON" {
			return python
		}
		return os.Getenv(name)
	}
	second := pybridge.TruthBackend(e, cache, worker.Options{Limits: worker.DefaultLimits})
	defer func() {
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	}()
	for _, o := range catalog.All() {
		t.Run(o.Spec.Name, func(t *testing.T) {
			if _, _, err := second.Load(context.Background(), o.Spec.Name); err != nil {
				t.Fatal(err)
			}
			plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick})
			if err != nil {
				t.Fatal(err)
			}
			worst := 0.0
			for _, c := range plan.Cases {
				apart, where, err := apartOf(second, o.Spec, c)
				if err != nil {
					t.Fatalf("%v: %v", c, err)
				}
				worst = max(worst, apart)
				if !(apart <= agreement) {
					t.Errorf("%s %v %s %v %v %s %s %s: %.3g apart at %s", c.Op, c.Pass, c.DType, c.Dims, c.Attrs, c.Distribution, c.Upstream, c.Saved, apart, where)
				}
			}
			t.Logf("%d cases, at most %.1g apart", len(plan.Cases), worst)
		})
	}
}

// apartOf is the largest distance between both truths of a case, relative to its companion.
func apartOf(second backend.Backend, spec *op.Spec, c op.Case) (apart float64, where string, err error) {
	in, err := workload.Inputs(spec, c, defaultSeed)
	if err != nil {
		return 0, "", err
	}
	name := "truth/saved"
	switch c.Saved {
	case "own":
		name = "truth/chained"
	case "driver":
		saved, err := catalog.Saved(spec, c, in)
		if err != nil {
			return 0, "", err
		}
		in = append(in, saved...)
	}
	if c.Pass == op.Backward && c.Saved != "own" {
		if in, err = catalog.BackwardInputs(spec, in); err != nil {
			return 0, "", err
		}
	}
	truth, err := catalog.TruthOf(c, spec.DefaultContract(c.DType), in, nil)
	if err != nil {
		return 0, "", err
	}
	outputs, err := spec.Outputs(c)
	if err != nil {
		return 0, "", err
	}
	for i := range outputs {
		outputs[i].DType = op.FP64
	}
	outcome, err := second.Run(context.Background(), backend.Job{DType: c.DType, Contract: "fp64", Inputs: in, Outputs: outputs, Attrs: attributesOf(spec, c),
		Implementation: backend.Implementation{Name: name, Op: c.Op, Pass: c.Pass}, Launches: []backend.LaunchPlan{{Poison: "a"}}})
	if err != nil {
		return 0, "", err
	}
	if outcome.Status != op.StatusUnknown || len(outcome.Launches) != 1 {
		return 0, "", fmt.Errorf("the second truth ended %v: %s", outcome.Status, outcome.Sentence)
	}
	for i, target := range truth.Outputs {
		got := outcome.Launches[0].Outputs[i]
		if !got.Present || got.Type != "" || !slices.Equal(got.Shape, target.Shape) {
			return math.Inf(1), fmt.Sprintf("%s, which came back as %s %v, want %v", target.Name, got.Type, got.Shape, target.Shape), nil
		}
		for j, y := range tensor.Decode(op.FP64, got.Tensor.Data) {
			if d := distance(target, j, y); !(d <= apart) {
				apart, where = d, fmt.Sprintf("%s%v: %v and %v", target.Name, tensor.Index(int64(j), target.Shape), target.R[j], y)
			}
		}
	}
	return apart, where, nil
}

// distance is |R - y| relative to |R| and to what fp32's part of the allowance says of the terms that R is made of.
func distance(target judge.Target, i int, y float64) float64 {
	r := target.R[i]
	if r == y || math.IsNaN(r) && math.IsNaN(y) {
		return 0
	}
	return math.Abs(r-y) / (math.Abs(r) + target.TFP32[i]/(16*judge.U32))
}

// attributesOf are a case's attributes as a worker gets them.
func attributesOf(spec *op.Spec, c op.Case) []backend.AttrRef {
	var refs []backend.AttrRef
	for _, a := range c.Attrs {
		i := slices.IndexFunc(spec.Attributes, func(s op.AttributeSpec) bool { return s.Name == a.Name })
		refs = append(refs, backend.AttrRef{Name: a.Name, Type: spec.Attributes[i].Type, Number: a.Number, Text: a.Text})
	}
	return refs
}
