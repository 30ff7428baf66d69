package integer_test

import (
	"math"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	_ "triad/internal/truth/all"
	"triad/internal/truth/integer"
	"triad/internal/truth/truthtest"
)

// members calls visit for every operator of the family on a case of every dtype and distribution.
func members(t *testing.T, visit func(o integer.Operator, c op.Case, in []tensor.Tensor)) {
	t.Helper()
	found := 0
	for _, member := range truth.All() {
		o, ok := integer.Get(member.Spec.Name)
		if !ok {
			continue
		}
		found++
		plan, err := member.Spec.Expand(op.Options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range plan.Cases {
			visit(o, c, truthtest.CaseInputs(t, member.Spec, c, 1))
		}
	}
	if found == 0 {
		t.Fatal("the family has no operator")
	}
}

// TestFormsAgree: all forms equal the truth, which is within the range of the output and exact to the bit.
func TestFormsAgree(t *testing.T) {
	members(t, func(o integer.Operator, c op.Case, in []tensor.Tensor) {
		y := truthtest.TruthFor(t, c, integer.Contract, in).Outputs[0]
		low, high := math.Inf(-1), 0.0
		if o.Stored == nil {
			low, high = tensor.IntegerRange(y.DType)
		}
		values := make([][]float64, len(in))
		for j, x := range in {
			values[j] = x.Float64s()
		}
		for i, r := range y.R {
			element := make([]int64, len(in))
			at := truth.IndexOf(int64(i), y.Shape)
			for j, x := range in {
				element[j] = int64(values[j][truth.PositionOf(at[:len(x.Shape)], x.Shape)])
			}
			for k, form := range o.Forms {
				if got := o.Keeps(form(c, at, element)); got != r {
					t.Fatalf("%s: form %d of element %d is %v, the truth %v", c.Op, k, i, got, r)
				}
			}
			if r < low || r > high || y.T[i] != 0 || y.Sim[i] != r {
				t.Fatalf("%s: element %d is %v +- %v of %v", c.Op, i, r, y.T[i], y.DType)
			}
		}
		if !y.Bits || y.Independent {
			t.Errorf("%s: bits %t, independent %t", c.Op, y.Bits, y.Independent)
		}
	})
}

// TestRefused checks that invalid inputs of the operator are rejected.
func TestRefused(t *testing.T) {
	members(t, func(_ integer.Operator, c op.Case, in []tensor.Tensor) {
		if _, err := truth.Of(c, integer.Contract, in[1:], nil); err == nil {
			t.Errorf("%s: a missing input is taken", c.Op)
		}
	})
}
