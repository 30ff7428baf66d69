package softmax

import (
	"math"
	"reflect"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

// TestSingleWrongElementIsFound: in a case larger than any sample, one wrong element is found at any place.
func TestSingleWrongElementIsFound(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	const rows, cols = 1200, 1000 // more than 2^20 elements
	plan, err := o.Spec.Expand(op.Options{
		Level: op.LevelQuick, Dims: map[string]int64{"rows": rows, "cols": cols}, DTypes: []string{"bf16"},
		Passes: []op.Pass{op.Forward}, Distributions: []string{"normal"}, Layouts: []string{"contiguous"},
	})
	if err != nil || len(plan.Cases) != 1 {
		t.Fatalf("%d cases, %v", len(plan.Cases), err)
	}
	c := plan.Cases[0]
	in := truthtest.CaseInputs(t, o.Spec, c, 1)
	truth, err := o.TruthByRows(c, "fp32", in)
	if err != nil {
		t.Fatal(err)
	}
	kept, err := truth.Outputs[0].Kept()
	if err != nil {
		t.Fatal(err)
	}
	right := tensor.Encode(op.BF16, kept.Sim)
	for k := range 40 {
		at := (k*rows/40*cols + k*331%cols) % (rows * cols)
		data := append([]byte{}, right...)
		copy(data[2*at:], tensor.Encode(op.BF16, []float64{1.5 * kept.R[at]}))
		a := truthtest.PlantedAnswers(kept, data)["right"]
		v := judge.Judge(judge.Plan{
			Outputs:  []op.TensorType{{Name: "y", DType: op.BF16, Shape: kept.Shape}},
			Launches: 2,
		}, a, truth)[0]
		if v.Status != op.StatusFail || v.Wrong != 1 || v.Compared != rows*cols ||
			!reflect.DeepEqual(v.Worst.Index, []int64{int64(at / cols), int64(at % cols)}) {
			t.Errorf("element %d: %v, %d wrong of %d compared, worst %v", at, v.Status, v.Wrong,
				v.Compared, v.Worst.Index)
		}
	}
}

// TestUnfitRowsJudgeNothing: a truth with an undeclared NaN in a row rejects nothing and accepts nothing.
func TestUnfitRowsJudgeNothing(t *testing.T) {
	o, _ := truth.Get("softmax")
	c := caseOf(op.FP32, op.Forward, 300, 200)
	x := tensor.New("x", op.FP32, []int64{300, 200})
	values := make([]float64, 300*200)
	values[200*150+7] = math.NaN()
	x.SetFloat64s(values)
	truth, err := o.TruthByRows(c, "fp32", []tensor.Tensor{x})
	if err != nil {
		t.Fatal(err)
	}
	y := make([]float64, 300*200)
	for i := range y {
		y[i] = 1.0 / 200
	}
	target := truth.Outputs[0]
	target.R, target.T = y, make([]float64, len(y))
	a := truthtest.PlantedAnswers(target, tensor.Encode(op.FP32, y))["right"]
	v := judge.Judge(judge.Plan{
		Outputs:  []op.TensorType{{Name: "y", DType: op.FP32, Shape: target.Shape}},
		Launches: 2,
	}, a, truth)[0]
	if v.Status != op.StatusInconclusive {
		t.Errorf("%v: %s", v.Status, v.Sentence)
	}
}
