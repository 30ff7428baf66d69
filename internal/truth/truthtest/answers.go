package truthtest

import (
	"math"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// PlantedAnswers returns a right answer and wrong ones.
func PlantedAnswers(target judge.Target, right []byte) map[string]judge.Answer {
	size, n := int(target.DType.Size()), len(target.R)
	changed := func(at int, value float64) []byte {
		data := append([]byte{}, right...)
		copy(data[at*size:], tensor.Encode(target.DType, []float64{value}))
		return data
	}
	answer := func(first, second []byte) judge.Answer {
		var a judge.Answer
		for i, data := range [][]byte{first, second} {
			a.Launches = append(a.Launches, judge.Launch{
				Poison: string("ab"[i]), InputsUnchanged: true,
				GuardsIntact: true, Outputs: []judge.Returned{
					{
						Name: target.Name, Present: true, DType: target.DType, Shape: target.Shape,
						Stride: tensor.Contiguous(target.Shape), Data: data,
					},
				},
			})
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

// TruthFor computes the truth or fails the test.
func TruthFor(t *testing.T, c op.Case, contract string, in []tensor.Tensor) judge.Truth {
	t.Helper()
	got, err := truth.Of(c, contract, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// Judged stores one set of values for each output (rounded once to its dtype) and judges it as a call of two
// launches.
func Judged(truth judge.Truth, values ...[]float64) []judge.Verdict {
	plan, answer := soundAnswer(truth, values)
	return judge.Judge(plan, answer, truth)
}

// soundAnswer returns a call of two launches that both gave the same values.
func soundAnswer(truth judge.Truth, values [][]float64) (judge.Plan, judge.Answer) {
	plan := judge.Plan{Launches: 2}
	launch := judge.Launch{InputsUnchanged: true, GuardsIntact: true}
	for i, o := range truth.Outputs {
		plan.Outputs = append(plan.Outputs, op.TensorType{Name: o.Name, DType: o.DType, Shape: o.Shape})
		launch.Outputs = append(launch.Outputs, judge.Returned{
			Name: o.Name, Present: true, DType: o.DType, Shape: o.Shape, Stride: tensor.Contiguous(o.Shape),
			Data: tensor.Encode(o.DType, values[i]),
		})
	}
	a, b := launch, launch
	a.Poison, b.Poison = "a", "b"
	return plan, judge.Answer{Launches: []judge.Launch{a, b}}
}

// Accepts fails the test unless every output passes.
func Accepts(t *testing.T, what string, verdicts []judge.Verdict) {
	t.Helper()
	for _, v := range verdicts {
		if v.Status != op.StatusPass {
			t.Errorf("%s: %v %s: %s", what, v.Status, v.Gate, v.Sentence)
		}
	}
}

// Rejects fails the test unless some output fails.
func Rejects(t *testing.T, what string, verdicts []judge.Verdict) {
	t.Helper()
	if s := judge.Row(verdicts); s != op.StatusFail {
		t.Errorf("%s: %v, want FAIL; error margin %v", what, s, verdicts[0].ErrorMargin)
	}
}

// Sims returns the simulated results of a truth: they must always pass.
func Sims(truth judge.Truth) [][]float64 {
	var out [][]float64
	for _, o := range truth.Outputs {
		out = append(out, o.Sim)
	}
	return out
}
