package truth_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/workload"
)

// TestComplexStepAgrees compares every operator's backward, under every combination of attributes, with the
// complex step of its plain forward. The fast tier takes each combination once, in one dtype and with one
// upstream.
func TestComplexStepAgrees(t *testing.T) {
	for _, o := range truth.All() {
		if o.Spec.Backward == nil {
			continue
		}
		dims, level := o.Spec.Check.Truth.Sampled, op.LevelFull
		if dims == nil {
			level = op.LevelQuick // its own sizes
		}
		plan, err := o.Spec.Expand(op.Options{
			Level: level, Passes: []op.Pass{op.Backward}, Dims: dims,
			Upstreams: []string{"normal", "one_hot"},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range plan.Cases {
			key := fmt.Sprint(c.Op, " ", c.Attrs)
			if !need.Chosen(t, fmt.Sprint(c.Op, " ", c.Key()), key,
				slices.Concat(need.Operator(c.Op), need.Judge)...) {
				continue
			}
			in, err := workload.Inputs(o.Spec, c, 5)
			if err != nil {
				t.Fatal(err)
			}
			s, err := truth.ComplexStep(o.Spec, c, in, 1)
			if err != nil {
				t.Fatalf("%s: %v", o.Spec.Name, err)
			}
			if !s.Agrees() || len(s.Gradients) != len(o.Spec.Backward.Outputs) {
				t.Errorf("%s %s %v %s: %v", c.Op, c.DType, c.Attrs, c.Upstream, s)
			}
		}
	}
}

// TestComplexStepTellsWrongGradients checks that it can reject: one element of a gradient 1e-9 off, one of
// several lost.
func TestComplexStepTellsWrongGradients(t *testing.T) {
	o, err := truth.Get("layernorm")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Backward, DType: "fp32", Saved: "own"},
		map[string]int64{"rows": 3, "cols": 7}, nil)
	if err != nil {
		t.Fatal(err)
	}
	in, err := workload.Inputs(o.Spec, c, 5)
	if err != nil {
		t.Fatal(err)
	}
	var kept truth.Losses
	kept = truth.RegisterLosses("layernorm", func(k *truth.Request) ([]truth.Loss, error) {
		all, err := kept(k)
		right := all[1].Of
		all[1].Of = func(z []complex128) complex128 { return right(z) + z[3]*complex(1e-9, 0) }
		return all, err
	})
	defer func() { truth.RegisterLosses("layernorm", kept) }()
	s, err := truth.ComplexStep(o.Spec, c, in, 1)
	if err != nil || s.Agrees() || s.Worst != "grad_weight" ||
		!strings.Contains(s.String(), "away in grad_weight") {
		t.Errorf("%v, %v: want grad_weight refused", s, err)
	}
	truth.RegisterLosses("layernorm", func(k *truth.Request) ([]truth.Loss, error) {
		all, err := kept(k)
		return all[:2], err
	})
	if _, err := truth.ComplexStep(o.Spec, c, in, 1); err == nil {
		t.Error("a gradient without a complex forward was accepted")
	}
	if _, err := truth.ComplexStep(o.Spec, op.Case{Op: "layernorm", Pass: op.Forward}, []tensor.Tensor{},
		1); err == nil {
		t.Error("a forward was accepted")
	}
}
