package flashattention

import (
	"math"
	"slices"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// TestSampledInvariants checks that a sample too is judged by the invariants of single elements.
func TestSampledInvariants(t *testing.T) {
	o, err := truth.Get("flash_attention")
	if err != nil {
		t.Fatal(err)
	}
	dims := evaluation.Small
	plan, err := o.Spec.Expand(op.Options{
		Level: op.LevelQuick, Dims: dims, Passes: []op.Pass{op.Forward},
		Distributions: []string{"normal"}, Layouts: []string{"contiguous"},
	})
	if err != nil || len(plan.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(plan.Cases), err)
	}
	for _, c := range plan.Cases {
		in, contract := truthtest.CaseInputs(t, o.Spec, c, 1), o.Spec.DefaultContract(c.DType)
		known := func(contract string) (judge.Truth, error) {
			return truth.Of(c, contract, in, &truth.Sample{Rows: 3, Seed: 5})
		}
		whole := truthtest.TruthFor(t, c, contract, in)
		sampled, err := known(contract)
		if err != nil || sampled.Outputs[0].Index == nil {
			t.Fatalf("%s: no sample: %v", c.Key(), err)
		}
		y := tensor.New("o", whole.Outputs[0].DType, whole.Outputs[0].Shape)
		for _, wrong := range []bool{false, true} {
			values := append([]float64{}, whole.Outputs[0].Sim...)
			at := sampled.Outputs[0].Index[len(sampled.Outputs[0].Index)-1]
			if wrong {
				values[at] = 100
			}
			y.SetFloat64s(values)
			call := truth.Call{Case: c, Given: in, Gave: truth.Inputs{y}, Truth: known}
			for _, r := range truth.RelationsOf(c) {
				if !r.OfSample {
					continue
				}
				held := r.Hold(contract, []truth.Call{call}, nil)[0]
				if held.Accepted() == wrong || held.N > int64(len(sampled.Outputs[0].Index)) || wrong &&
					held.Wrong != 1 {
					t.Errorf("%s, wrong %v: %+v", c.Key(), wrong, held)
				}
			}
		}
	}
}

// leaky returns attention whose first output depends, by one ulp, on a key that the mask hides from it: the
// weight of the last key, which only the last query may see, is not 0 but as small as can be.
func leaky(t *testing.T, contract string, c op.Case, given truth.Inputs) truth.Inputs {
	t.Helper()
	gave := truthtest.Simulated(t, contract, c, given)
	v := given.Get("v").Float64s()
	if math.Abs(v[len(v)-1]) < 100 {
		return gave
	}
	o := gave.Get("o")
	return gave.With([]tensor.Tensor{truth.Changed(o, func(i int64, y float64) float64 {
		if i > 0 || y == 0 {
			return y
		}
		return float64(math.Nextafter32(float32(y), 9))
	})})
}

// TestALeakOfAMaskedKeyIsSeen: a leak of a masked key by one ulp passes every gate on both the judged call
// and the second, and is FAIL under G6.
func TestALeakOfAMaskedKeyIsSeen(t *testing.T) {
	o, err := truth.Get("flash_attention")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32"}, map[string]int64{
		"batch":   1,
		"heads_q": 2, "heads_kv": 1, "seq_q": 9, "seq_kv": 9, "head_dim": 16,
	},
		map[string]string{"causal": "true"})
	if err != nil {
		t.Fatal(err)
	}
	given := truth.Inputs(truthtest.CaseInputs(t, o.Spec, c, 1))
	asked := false
	for _, r := range truth.RelationsOf(c) {
		if r.Name != "keys and values that are masked do not show" {
			continue
		}
		asked = true
		calls := []truth.Call{{Case: c, Given: given, Gave: leaky(t, "fp32", c, given)}}
		at, replaced, err := r.Next(calls)
		if err != nil {
			t.Fatal(err)
		}
		second := truth.Call{Case: at, Given: given.With(replaced)}
		second.Gave = leaky(t, "fp32", at, second.Given)
		for _, call := range []truth.Call{calls[0], second} {
			known := truthtest.TruthFor(t, call.Case, "fp32", call.Given)
			truthtest.Accepts(t, "the gates before", truthtest.Judged(known, call.Gave.Get("o").Float64s(),
				call.Gave.Get("lse").Float64s()))
		}
		found := truthtest.Holds(r, "fp32", append(calls, second))
		if held := found["o"]; held.Accepted() || held.Wrong != 1 ||
			!slices.Equal(held.Worst.Index, []int64{0, 0, 0, 0}) || !found["lse"].Accepted() {
			t.Errorf("%+v", found)
		}
		expected := []judge.Expected{{Name: r.Name, Output: "o"}}
		if v := judge.WithRelations([]judge.Verdict{{Output: "o", Status: op.StatusPass}}, expected,
			[]judge.Relation{found["o"]})[0]; v.Status != op.StatusFail || v.Gate != "G6" {
			t.Errorf("%v %s", v.Status, v.Gate)
		}
	}
	if !asked {
		t.Error("no such relation is asked")
	}
}

// TestTheLeakTestOfGradientsHasASecondTruth: the second call of the leak test of gradients has a truth under
// every contract, even with saved tensors from the driver: those of the former keys would make exp(score -
// lse) overflow there.
func TestTheLeakTestOfGradientsHasASecondTruth(t *testing.T) {
	o, err := truth.Get("flash_attention")
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, dtype := range []string{"fp16", "bf16"} {
		c, err := o.Spec.NewCase(op.Case{Pass: op.Backward, DType: dtype, Saved: "driver"}, map[string]int64{
			"batch": 1, "heads_q": 2, "heads_kv": 2, "seq_q": 33, "seq_kv": 65, "head_dim": 32,
		}, map[string]string{"causal": "true"})
		if err != nil {
			t.Fatal(err)
		}
		given := truth.Inputs(truthtest.CaseInputs(t, o.Spec, c, 1))
		for _, r := range truth.RelationsOf(c) {
			if r.Name != "keys and values that are masked do not show in the gradient of q" {
				continue
			}
			for _, contract := range []string{"fp32", "p16", "tf32", "eager"} {
				calls := truthtest.Follow(t, contract, r, c, given)
				seen := truthtest.Spoilt(calls, "grad_q", func(i int, y float64) float64 {
					if i == 0 {
						return y + 1
					}
					return y
				})
				for _, varying := range [][]string{nil, {"grad_q"}} {
					asked++
					if held := r.Hold(contract, calls, varying)[0]; !held.Accepted() {
						t.Errorf("%s %s, may vary %v: %s", dtype, contract, varying, held.Sentence())
					}
					if held := r.Hold(contract, seen, varying)[0]; held.Wrong != 1 {
						t.Errorf("%s %s, may vary %v: a leak is not seen: %+v", dtype, contract, varying,
							held)
					}
				}
			}
		}
	}
	if asked != 16 {
		t.Errorf("asked %d times, want 16", asked)
	}
}
