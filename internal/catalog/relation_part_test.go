package catalog

import (
	"fmt"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// TestInvariantsOfParts: of a case whose truth is computed row by row the invariants are asked of runs of its rows, the first and the last among
// them. They hold of right outputs, and the relation that the last row breaks is found there.
func TestInvariantsOfParts(t *testing.T) {
	asked, broken := map[string]int{}, map[string]int{}
	byRowCases(t, func(o *Operator, c op.Case, contract string, in []tensor.Tensor) {
		if c.Distribution != "normal" || c.Layout != "contiguous" || contract != o.Spec.DefaultContract(c.DType) {
			return
		}
		whole := truthFor(t, c, contract, in)
		for _, r := range RelationsOf(c) {
			if r.Second != nil {
				continue
			}
			for _, output := range r.Outputs {
				key := fmt.Sprint(c.Op, " ", c.Pass, " ", r.Name)
				call := Call{Case: c, Given: in}
				for _, target := range whole.Outputs {
					y := tensor.New(target.Name, target.DType, target.Shape)
					y.SetFloat64s(target.Sim)
					call.Gave = append(call.Gave, y)
				}
				for _, held := range o.HoldParts(r, contract, call, nil) {
					if asked[key]++; !held.Accepted() {
						t.Errorf("%s %s: %s", key, c.Key(), held.Sentence())
					}
				}
				y := call.Gave.Get(output)
				cols := y.Shape[len(y.Shape)-1]
				last := make([]float64, cols)
				for i := range last {
					last[i] = -3
				}
				tensor.EncodeInto(y.Data[(y.Elements()-cols)*y.DType.Size():], y.DType, last)
				for _, held := range o.HoldParts(r, contract, call, nil) {
					if held.Output != output || held.Accepted() {
						continue
					}
					broken[key]++
					if at := held.Worst.Index; held.Wrong == 0 || at[0] != y.Shape[0]-1 || len(y.Shape) == 4 && at[1] != y.Shape[1]-1 {
						t.Errorf("%s %s: %s, want the last row of %v", key, c.Key(), held.Sentence(), y.Shape)
					}
				}
			}
		}
	})
	for _, key := range []string{"softmax forward each row adds up to 1", "softmax forward no element is negative", "softmax backward the gradients of each row add up to 0",
		"layernorm forward what each row is normalised to has mean 0", "layernorm backward the gradients of each row add up to 0",
		"swiglu forward no element lies beyond gate times up", "rope forward each pair keeps its norm", "rope backward each pair keeps its norm"} {
		if asked[key] == 0 || broken[key] == 0 {
			t.Errorf("%q was asked %d times and broken %d times", key, asked[key], broken[key])
		}
	}
	if key := "rope forward position 0 stays what it is"; asked[key] == 0 {
		t.Errorf("%q was never asked", key)
	}
}

// TestSampledInvariants: what can be said of single elements is asked of a sample too.
func TestSampledInvariants(t *testing.T) {
	o, err := Get("flash_attention")
	if err != nil {
		t.Fatal(err)
	}
	dims := map[string]int64{}
	for _, d := range sampledShapes["flash_attention"] {
		dims[d.Name] = d.Value
	}
	plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick, Dims: dims, Passes: []op.Pass{op.Forward}, Distributions: []string{"normal"}, Layouts: []string{"contiguous"}})
	if err != nil || len(plan.Cases) == 0 {
		t.Fatalf("%d cases, %v", len(plan.Cases), err)
	}
	for _, c := range plan.Cases {
		in, contract := caseInputs(t, o.Spec, c, 1), o.Spec.DefaultContract(c.DType)
		truth := func(contract string) (judge.Truth, error) { return TruthOf(c, contract, in, &Sample{Rows: 3, Seed: 5}) }
		whole := truthFor(t, c, contract, in)
		sampled, err := truth(contract)
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
			call := Call{Case: c, Given: in, Gave: Inputs{y}, Truth: truth}
			for _, r := range RelationsOf(c) {
				if !r.OfSample {
					continue
				}
				held := r.Hold(contract, []Call{call}, nil)[0]
				if held.Accepted() == wrong || held.N > int64(len(sampled.Outputs[0].Index)) || wrong && held.Wrong != 1 {
					t.Errorf("%s, wrong %v: %+v", c.Key(), wrong, held)
				}
			}
		}
	}
}
