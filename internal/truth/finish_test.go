package truth

import (
	"math"
	"testing"

	"triad/internal/op"
)

// TestIndependence: where one key may have nearly all the weight of a row, a few rounding errors decide and
// G4 does not apply.
func TestIndependence(t *testing.T) {
	for name, want := range map[string][2]bool{
		"normal": {true, true}, "row_offsets": {false, true},
		"scaled": {false, true}, "ties": {false, false},
	} {
		for i, operator := range []string{"flash_attention", "softmax"} {
			o, err := Get(operator)
			if err != nil {
				t.Fatal(err)
			}
			k := &Request{Case: op.Case{Op: operator, Distribution: name}, spec: o.Spec}
			if k.independent() != want[i] {
				t.Errorf("%s under %s: independent %v, want %v", operator, name, k.independent(), want[i])
			}
		}
	}
}

// TestMayBeNegInf: an output that is -inf though no input is must be declared so in the spec, under any name;
// its other infinities are rejected.
func TestMayBeNegInf(t *testing.T) {
	for _, c := range []struct {
		spec *op.Spec
		r    float64
		want bool
	}{
		{&op.Spec{OutputSpecs: []op.TensorSpec{{Name: "total", MayBeNegInf: true}}}, math.Inf(-1), true},
		{&op.Spec{OutputSpecs: []op.TensorSpec{{Name: "total", MayBeNegInf: true}}}, math.Inf(1), false},
		{&op.Spec{OutputSpecs: []op.TensorSpec{{Name: "total", MayBeNegInf: true}}}, math.NaN(), false},
		{&op.Spec{OutputSpecs: []op.TensorSpec{{Name: "total"}}}, math.Inf(-1), false},
	} {
		k := &Request{Case: op.Case{Distribution: "normal"}, spec: c.spec}
		target := k.Target("total", op.FP32, []int64{1}, nil)
		target.R[0], target.Sim[0] = c.r, c.r
		if err := k.finish(&target); (err == nil) != c.want {
			t.Errorf("a truth of %v, declared %v: %v", c.r, c.spec.OutputSpecs[0].MayBeNegInf, err)
		}
	}
}
