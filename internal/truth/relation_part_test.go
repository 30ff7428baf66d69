package truth_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// invariants are the relations that TestInvariantsOfParts must break.
var invariants = []string{
	"softmax forward each row adds up to 1", "softmax forward no element is negative",
	"softmax backward the gradients of each row add up to 0",
	"layernorm forward what each row is normalised to has mean 0",
	"layernorm backward the gradients of each row add up to 0",
	"swiglu forward no element lies beyond gate times up", "rope forward each pair keeps its norm",
	"rope backward each pair keeps its norm",
}

// TestInvariantsOfParts: the invariants of a case whose truth is computed row by row are checked on runs of
// its rows, the first and the last among them. They hold for right outputs, and a relation that the last row
// breaks is found there.
func TestInvariantsOfParts(t *testing.T) {
	asked, broken := map[string]int{}, map[string]int{}
	byRowCases(t, func(o *truth.Operator, c op.Case, contract string, in []tensor.Tensor) {
		if c.Distribution != "normal" || c.Layout != "contiguous" ||
			contract != o.Spec.DefaultContract(c.DType) {
			return
		}
		whole := truthtest.TruthFor(t, c, contract, in)
		var shared truth.PartTruths
		for _, r := range truth.RelationsOf(c) {
			if r.Second != nil {
				continue
			}
			for _, output := range r.Outputs {
				key := fmt.Sprint(c.Op, " ", c.Pass, " ", r.Name)
				call := truth.Call{Case: c, Given: in}
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
				cols := rowOf(y)
				last := slices.Repeat([]float64{-3}, int(cols))
				tensor.EncodeInto(y.Data[(y.Elements()-cols)*y.DType.Size():], y.DType, last)
				alone := o.HoldParts(r, contract, call, nil)
				call.Parts = &shared
				if together := o.HoldParts(r, contract, call, nil); !reflect.DeepEqual(together, alone) {
					t.Errorf("%s %s: %+v with truths that are kept, %+v alone", key, c.Key(), together, alone)
				}
				for _, held := range alone {
					if held.Output != output || held.Accepted() {
						continue
					}
					broken[key]++
					if at := held.Worst.Index; held.Wrong == 0 || at[0] != y.Shape[0]-1 ||
						len(y.Shape) == 4 && at[1] != y.Shape[1]-1 {
						t.Errorf("%s %s: %s, want the last row of %v", key, c.Key(), held.Sentence(), y.Shape)
					}
				}
			}
		}
	})
	for _, key := range invariants {
		if asked[key] == 0 || broken[key] == 0 {
			t.Errorf("%q was asked %d times and broken %d times", key, asked[key], broken[key])
		}
	}
	if key := "rope forward position 0 stays what it is"; asked[key] == 0 {
		t.Errorf("%q was never asked", key)
	}
}

// rowOf returns the number of elements in a row of an output: 1 where the output has one dim.
func rowOf(y tensor.Tensor) int64 {
	if len(y.Shape) == 1 {
		return 1
	}
	return y.Shape[len(y.Shape)-1]
}
