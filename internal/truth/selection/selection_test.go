package selection_test

import (
	"math"
	"slices"
	"testing"

	_ "triad/internal/truth/all"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/selection"
	"triad/internal/truth/truthtest"
)

// members lists the operators of the family.
func members(t *testing.T) map[string]selection.Operator {
	t.Helper()
	all := map[string]selection.Operator{}
	for _, o := range truth.All() {
		if s, ok := selection.Get(o.Spec.Name); ok {
			all[o.Spec.Name] = s
		}
	}
	if len(all) == 0 {
		t.Fatal("the family has no operator")
	}
	return all
}

// TestBest: NaN comes first, equal elements in the order of columns, 0 and -0 are equal; a score reverses the
// order.
func TestBest(t *testing.T) {
	minus, nan := math.Copysign(0, -1), math.NaN()
	row := []float64{0, 2, nan, minus, math.Inf(-1), nan, 2, math.Inf(1)}
	o := selection.Operator{Score: func(x float64) float64 { return x }}
	if got := o.Best(row, 8); !slices.Equal(got, []float64{2, 5, 7, 1, 6, 0, 3, 4}) {
		t.Errorf("the best are %v", got)
	}
	o.Score = func(x float64) float64 { return -x }
	if got := o.Best(row, 4); !slices.Equal(got, []float64{2, 5, 4, 0}) {
		t.Errorf("of the negative score the best are %v", got)
	}
}

// oneRow returns the truth of one row of a member, and the outputs by name.
func oneRow(t *testing.T, name string, o selection.Operator, k string, row []float64) judge.Truth {
	t.Helper()
	spec, err := truth.Get(name)
	if err != nil {
		t.Fatal(err)
	}
	cols := int64(len(row))
	c, err := spec.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32", Distribution: "non_finite"},
		map[string]int64{"rows": 1, "cols": cols}, map[string]string{"k": k})
	if err != nil {
		t.Fatal(err)
	}
	x := truthtest.Literal(o.From, op.FP32, row, 1, cols)
	return truthtest.TruthFor(t, c, "exact", []tensor.Tensor{x})
}

// TestValuesUnderTheChoice: the elements are those at the places that a kernel chose, to the sign of a zero;
// without places either zero is accepted.
func TestValuesUnderTheChoice(t *testing.T) {
	minus := math.Copysign(0, -1)
	for name, o := range members(t) {
		known := oneRow(t, name, o, "3", []float64{0, -1, minus, math.NaN()})
		first := known.Outputs[0].Name == o.Values
		judged := func(values, places []float64) []judge.Verdict {
			if first {
				return truthtest.Judged(known, values, places)
			}
			return truthtest.Judged(known, places, values)
		}
		truthtest.Accepts(t, "the first zero first", judged([]float64{math.NaN(), 0, minus},
			[]float64{3, 0, 2}))
		truthtest.Accepts(t, "the other first", judged([]float64{math.NaN(), minus, 0}, []float64{3, 2, 0}))
		truthtest.Rejects(t, "zeros of the other places", judged([]float64{math.NaN(), minus, 0},
			[]float64{3, 0, 2}))
		truthtest.Rejects(t, "an element that is not there", judged([]float64{math.NaN(), 0, minus},
			[]float64{3, 0, 1}))
		alone := known
		alone.Outputs = slices.DeleteFunc(slices.Clone(known.Outputs),
			func(t judge.Target) bool { return t.Name == o.Places })
		truthtest.Accepts(t, "values alone", truthtest.Judged(alone, []float64{math.NaN(), 0, 0}))
		truthtest.Rejects(t, "wrong values alone", truthtest.Judged(alone, []float64{math.NaN(), 0, -1}))
	}
}

// TestSample: a sample of rows has the bits of the whole, and judges the choices in them.
func TestSample(t *testing.T) {
	for name, o := range members(t) {
		spec, err := truth.Get(name)
		if err != nil {
			t.Fatal(err)
		}
		c, err := spec.Spec.NewCase(op.Case{Pass: op.Forward, DType: "bf16"},
			map[string]int64{"rows": 300, "cols": 40}, nil)
		if err != nil {
			t.Fatal(err)
		}
		in := truthtest.CaseInputs(t, spec.Spec, c, 1)
		whole := truthtest.TruthFor(t, c, "exact", in)
		part, err := truth.Of(c, "exact", in, &truth.Sample{Rows: 5, Seed: 9})
		if err != nil {
			t.Fatal(err)
		}
		places := map[string][]byte{}
		for i, x := range part.Outputs {
			if len(x.Index) == 0 || len(x.R) == len(whole.Outputs[i].R) {
				t.Fatalf("%s %s: %d of %d elements are sampled", name, x.Name, len(x.R),
					len(whole.Outputs[i].R))
			}
			for j, at := range x.Index {
				if x.R[j] != whole.Outputs[i].R[at] {
					t.Fatalf("%s %s: sampled element %d is not that of the whole", name, x.Name, at)
				}
			}
			places[x.Name] = tensor.Encode(x.DType, whole.Outputs[i].R)
		}
		under := part.Under(func(output string) []byte { return places[output] })
		for i, x := range under.Outputs {
			if !slices.Equal(x.R, part.Outputs[i].R) {
				t.Errorf("%s %s: under the simulated contract's choice the sample is another", name, x.Name)
			}
		}
		bytes := places[o.Places]
		// the last place of the last row repeats the one before
		copy(bytes[len(bytes)-4:], bytes[len(bytes)-8:])
		under = part.Under(func(output string) []byte { return places[output] })
		for i, x := range under.Outputs {
			if x.Name == o.Places && !slices.Equal(x.R, part.Outputs[i].R) {
				t.Errorf("%s: for a place that is wrong %v is wanted, not %v", name, part.Outputs[i].R, x.R)
			}
		}
	}
}
