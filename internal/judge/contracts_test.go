package judge

import (
	"errors"
	"testing"

	"triad/internal/op"
)

func TestUnderContracts(t *testing.T) {
	strict, loose := target(op.FP32, []float64{1, 2}, 1e-6), target(op.FP32, []float64{1, 2}, 1e-2)
	truth := func(contract string) (Truth, error) {
		if contract == "eager" {
			return Truth{Contract: contract, Outputs: []Target{loose}}, nil
		}
		return Truth{Contract: contract, Outputs: []Target{strict}}, nil
	}
	for _, c := range []struct {
		second   float64
		declared string
		want     op.Status
	}{
		{2, "eager", op.StatusPass},
		{2.001, "eager", op.StatusDifferentContract},
		{2.1, "eager", op.StatusFail},
		{2.001, "fp32", op.StatusFail},
		{2.001, "", op.StatusFail},
	} {
		v := UnderContracts(plan(strict), answer(strict, 1, c.second), truth, "fp32", c.declared)
		if Row(v) != c.want {
			t.Errorf("%v declared %q: %+v", c.second, c.declared, v)
		}
	}
	none := func(string) (Truth, error) { return Truth{}, errors.New("no truth for such inputs") }
	v := UnderContracts(plan(strict), answer(strict, 1, 2), none, "fp32", "eager")
	if v[0].Status != op.StatusInconclusive || v[0].Sentence != "no truth for such inputs" {
		t.Errorf("without a truth: %+v", v)
	}
	lost := func(contract string) (Truth, error) {
		if contract == "eager" {
			return none(contract)
		}
		return truth(contract)
	}
	v = UnderContracts(plan(strict), answer(strict, 1, 2.1), lost, "fp32", "eager")
	if v[0].Status != op.StatusInconclusive {
		t.Errorf("without a truth of the looser contract: %+v", v)
	}
	vague := target(op.FP32, []float64{1, 2}, 5)
	loosest := func(contract string) (Truth, error) {
		if contract == "eager" {
			return Truth{Contract: contract, Outputs: []Target{vague}}, nil
		}
		return truth(contract)
	}
	v = UnderContracts(plan(strict), answer(strict, 1, 2.1), loosest, "fp32", "eager")
	if v[0].Status != op.StatusNoPower {
		t.Errorf("a looser contract that accepts anything: %+v", v)
	}
	a := answer(strict, 1, 2.001)
	a.Launches[0].GuardsIntact = false
	if v := UnderContracts(plan(strict), a, truth, "fp32", "eager"); v[0].Status != op.StatusFail {
		t.Errorf("a looser contract excused a broken guard: %+v", v)
	}
}
