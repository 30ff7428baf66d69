package catalog

import (
	"fmt"
	"math"
	"reflect"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// rowShapes are shapes whose runs of judged elements are whole rows, single rows, and parts of rows that end within a run.
var rowShapes = map[string][]op.Dims{
	"softmax": rowsAndColsOf([2]int64{7000, 5}, [2]int64{70, 1030}, [2]int64{2, 32768}, [2]int64{2, 70001}),
	// The gradients of layernorm's parameters are no rows: they are computed at once.
	"layernorm": rowsAndColsOf([2]int64{7000, 5}, [2]int64{2, 70001}),
	"swiglu":    rowsAndColsOf([2]int64{7000, 5}, [2]int64{2, 70001}),
	"rope": {{{Name: "batch", Value: 2}, {Name: "seq", Value: 70}, {Name: "heads_q", Value: 5}, {Name: "heads_k", Value: 2}, {Name: "head_dim", Value: 96},
		{Name: "max_pos", Value: 80}}},
}

func rowsAndColsOf(shapes ...[2]int64) []op.Dims {
	var all []op.Dims
	for _, s := range shapes {
		all = append(all, op.Dims{{Name: "rows", Value: s[0]}, {Name: "cols", Value: s[1]}})
	}
	return all
}

// byRowCases calls test with every case of the operators whose truth can be computed row by row, its inputs, and a contract.
func byRowCases(t *testing.T, test func(o *Operator, c op.Case, contract string, in []tensor.Tensor)) {
	for _, o := range All() {
		if o.ByRows() != (len(rowShapes[o.Spec.Name]) > 0) {
			t.Fatalf("%s: by rows %v, and %d shapes to try", o.Spec.Name, o.ByRows(), len(rowShapes[o.Spec.Name]))
		}
		for i, shape := range rowShapes[o.Spec.Name] {
			dims := map[string]int64{}
			for _, d := range shape {
				dims[d.Name] = d.Value
			}
			options := op.Options{Level: op.LevelQuick, Dims: dims}
			if i > 0 { // what a distribution does is seen on the first shape
				options.Distributions, options.Layouts = []string{"normal"}, []string{"contiguous"}
			}
			plan, err := o.Spec.Expand(options)
			if err != nil || len(plan.Cases) == 0 {
				t.Fatalf("%s: %d cases, %v", o.Spec.Name, len(plan.Cases), err)
			}
			for _, c := range plan.Cases {
				if c.Distribution != "normal" && c.Layout != "contiguous" {
					continue
				}
				in := caseInputs(t, o.Spec, c, 1)
				for _, k := range Contracts() {
					if k.Name == o.Spec.DefaultContract(c.DType) || o.Spec.Permits(c.DType, k.Name) {
						test(o, c, k.Name, in)
					}
				}
			}
		}
	}
}

// TestVerdictByRowsIsThatOfTheWhole: a truth that is computed row by row while it is judged gives the verdict that the whole truth gives, with all
// its figures and to the bit: of right outputs and of wrong ones, whose wrong element lies in the first run, the last, or between.
func TestVerdictByRowsIsThatOfTheWhole(t *testing.T) {
	streamed := map[string]int{}
	wrong := map[op.Status]int{}
	byRowCases(t, func(o *Operator, c op.Case, contract string, in []tensor.Tensor) {
		whole := truthFor(t, c, contract, in)
		rows, err := o.TruthByRows(c, contract, in)
		if err != nil {
			t.Fatalf("%s: %v", c.Key(), err)
		}
		for i, target := range whole.Outputs {
			if rows.Outputs[i].Rows == nil {
				continue
			}
			streamed[fmt.Sprint(c.Op, " ", c.Pass, " ", target.Name)]++
			right := tensor.Encode(target.DType, target.Sim)
			for what, a := range plantedAnswers(target, right) {
				if c.Distribution != "normal" && what != "right" && what != "noisy" && what != "last element off" {
					continue
				}
				plan := judge.Plan{Outputs: []op.TensorType{{Name: target.Name, DType: target.DType, Shape: target.Shape}}, Launches: 2}
				verdict := func(truth judge.Truth, i int) judge.Verdict {
					return judge.Judge(plan, a, judge.Truth{Contract: contract, Outputs: truth.Outputs[i : i+1]})[0]
				}
				want, got := verdict(whole, i), verdict(rows, i)
				if !sameBits(want, got) {
					t.Errorf("%s %v %s %s, %s:\n  by rows  %+v\n  of all   %+v", c.Op, c.Pass, c.Key(), target.Name, what, got, want)
				}
				if what != "right" {
					wrong[got.Status]++
				}
				data := a.Launches[0].Outputs[0].Data
				if want, got := judge.WrongsOf(target, data), judge.WrongsOf(rows.Outputs[i], data); want != got {
					t.Errorf("%s %v %s %s, %s: wrong by rows %+v, of all %+v", c.Op, c.Pass, c.Key(), target.Name, what, got, want)
				}
			}
		}
	})
	for _, output := range []string{"softmax forward y", "softmax backward grad_x", "layernorm forward y", "layernorm backward grad_x", "swiglu forward y",
		"swiglu backward grad_gate", "swiglu backward grad_up", "rope forward q_out", "rope forward k_out", "rope backward grad_q", "rope backward grad_k"} {
		if streamed[output] == 0 {
			t.Errorf("no case of %s was judged row by row", output)
		}
	}
	if wrong[op.StatusFail] == 0 || wrong[op.StatusRace] == 0 {
		t.Errorf("wrong outputs ended %v, want some FAIL and some RACE", wrong)
	}
}

// plantedAnswers are a right answer and wrong ones.
func plantedAnswers(target judge.Target, right []byte) map[string]judge.Answer {
	size, n := int(target.DType.Size()), len(target.R)
	changed := func(at int, value float64) []byte {
		data := append([]byte{}, right...)
		copy(data[at*size:], tensor.Encode(target.DType, []float64{value}))
		return data
	}
	answer := func(first, second []byte) judge.Answer {
		var a judge.Answer
		for i, data := range [][]byte{first, second} {
			a.Launches = append(a.Launches, judge.Launch{Poison: string("ab"[i]), InputsUnchanged: true, GuardsIntact: true, Outputs: []judge.Returned{
				{Name: target.Name, Present: true, DType: target.DType, Shape: target.Shape, Stride: tensor.Contiguous(target.Shape), Data: data}}})
		}
		return a
	}
	all := map[string]judge.Answer{"right": answer(right, right)}
	for where, at := range map[string]int{"first": 0, "middle": n / 2, "last": n - 1} {
		off := changed(at, target.R[at]+1+2*target.T[at])
		all[where+" element off"] = answer(off, off)
		nan := changed(at, math.NaN())
		all[where+" element NaN"] = answer(nan, nan)
		all[where+" element differs"] = answer(right, off)
		a, b := append([]byte{}, right...), append([]byte{}, right...)
		tensor.Poison(a[at*size:(at+1)*size], target.DType, "a")
		tensor.Poison(b[at*size:(at+1)*size], target.DType, "b")
		all[where+" element unwritten"] = answer(a, b)
	}
	noisy := make([]float64, n) // G4 and G5
	for i, r := range target.R {
		noisy[i] = r + 0.9*target.T[i]*float64(1-2*(i&1))
	}
	loud := tensor.Encode(target.DType, noisy)
	all["noisy"] = answer(loud, loud)
	return all
}

// sameBits compares what two verdicts hold, NaN being NaN.
func sameBits(a, b judge.Verdict) bool {
	return reflect.DeepEqual(a, b) || fmt.Sprintf("%+v", exactly64(a)) == fmt.Sprintf("%+v", exactly64(b))
}

// exactly64 is a verdict with its elements, whose NaN are never equal, written out.
func exactly64(v judge.Verdict) any {
	return fmt.Sprintf("%x %x %x %x %x %x %+v %q", v.Worst16, v.Worst, v.Headroom, v.ULPMax, v.ULPMean, v.ULPs, v, v.Sentence)
}

// TestSingleWrongElementIsFound: of a case larger than any sample would hold, one wrong element is found wherever it lies.
func TestSingleWrongElementIsFound(t *testing.T) {
	o, err := Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	const rows, cols = 1200, 1000 // more than 2^20 elements
	plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick, Dims: map[string]int64{"rows": rows, "cols": cols}, DTypes: []string{"bf16"},
		Passes: []op.Pass{op.Forward}, Distributions: []string{"normal"}, Layouts: []string{"contiguous"}})
	if err != nil || len(plan.Cases) != 1 {
		t.Fatalf("%d cases, %v", len(plan.Cases), err)
	}
	c := plan.Cases[0]
	in := caseInputs(t, o.Spec, c, 1)
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
		a := plantedAnswers(kept, data)["right"]
		v := judge.Judge(judge.Plan{Outputs: []op.TensorType{{Name: "y", DType: op.BF16, Shape: kept.Shape}}, Launches: 2}, a, truth)[0]
		if v.Status != op.StatusFail || v.Wrong != 1 || v.Compared != rows*cols || !reflect.DeepEqual(v.Worst.Index, []int64{int64(at / cols), int64(at % cols)}) {
			t.Errorf("element %d: %v, %d wrong of %d compared, worst %v", at, v.Status, v.Wrong, v.Compared, v.Worst.Index)
		}
	}
}

// TestUnfitRowsJudgeNothing: a truth with NaN in a row, of a case that declares none, rejects nothing and accepts nothing.
func TestUnfitRowsJudgeNothing(t *testing.T) {
	o, _ := Get("softmax")
	c := softmaxCase(op.FP32, op.Forward, 300, 200)
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
	a := plantedAnswers(target, tensor.Encode(op.FP32, y))["right"]
	v := judge.Judge(judge.Plan{Outputs: []op.TensorType{{Name: "y", DType: op.FP32, Shape: target.Shape}}, Launches: 2}, a, truth)[0]
	if v.Status != op.StatusInconclusive {
		t.Errorf("%v: %s", v.Status, v.Sentence)
	}
}
