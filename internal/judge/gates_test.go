package judge

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// TestEachGate gives each gate an answer that it alone rejects, and the same answer without what it objects
// to.
func TestEachGate(t *testing.T) {
	one := target(op.FP32, []float64{1, 2, 3}, 0x1p-20)
	classes := target(op.FP32, []float64{nan, inf, 3}, 0x1p-20)
	classes.T[0], classes.T[1] = 0, 0
	exact := target(op.FP32, []float64{1, 2, 3}, 0)
	exact.Exact = true
	bits := target(op.FP32, []float64{math.Copysign(0, -1), nan, 0x1p-149}, 0)
	bits.Bits, bits.FTZ = true, true
	many, biased, noisy := plainNumbers(0.1), plainNumbers(1e-2), []float64{}
	for i, v := range many.R {
		noisy = append(noisy, tensor.Round(op.BF16, v*(1+0x1p-6*float64(1-2*(i%2))), false))
	}
	shared, rough := many, []float64{}
	shared.Errors = 1 // all elements share one rounding error
	for i, v := range many.R {
		rough = append(rough, tensor.Round(op.BF16, v*(1+0x1p-8*float64(1-2*(i%2))), false))
	}
	lean := make([]float64, len(biased.R))
	for i, v := range biased.R {
		lean[i] = tensor.Round(op.BF16, v*(1+1e-3), false)
	}
	unwritten := answer(one, 1, 2, 3)
	for l, poison := range []string{"a", "b"} {
		o := &unwritten.Launches[l].Outputs[0]
		o.Data = slices.Clone(o.Data)
		tensor.Poison(o.Data[8:], op.FP32, poison)
	}
	guard := answer(one, 1, 2, 3)
	guard.Launches[1].GuardsIntact = false
	for _, c := range []struct {
		name   string
		truth  Target
		answer Answer
		status op.Status
		gate   string
	}{
		{"right", one, answer(one, 1, 2, 3), op.StatusPass, ""},
		{"an element that was not written", one, unwritten, op.StatusFail, "G0"},
		{"a byte beside the buffer", one, guard, op.StatusFail, "G0"},
		{"classes where they belong", classes, answer(classes, nan, inf, 3), op.StatusPass, ""},
		{"a number for NaN", classes, answer(classes, 0, inf, 3), op.StatusFail, "G1"},
		{"NaN for a number", one, answer(one, 1, nan, 3), op.StatusFail, "G1"},
		{"the wrong infinity", classes, answer(classes, nan, -inf, 3), op.StatusFail, "G1"},
		{"beyond its interval", one, answer(one, 1, 2+0x1p-19, 3), op.StatusFail, "G2"},
		{"an ulp from an exact sum", exact, answer(exact, 1, 2+0x1p-22, 3), op.StatusFail, "G3"},
		{"the very bits", bits, answer(bits, math.Copysign(0, -1), nan, 0x1p-149), op.StatusPass, ""},
		{"the other zero", bits, answer(bits, 0, nan, 0x1p-149), op.StatusFail, "G2"},
		{"a subnormal flushed", bits, answer(bits, math.Copysign(0, -1), nan, 0), op.StatusFail, "G2"},
		{"the simulated contract", many, answer(many, many.Sim...), op.StatusPass, ""},
		{"noisier than the contract", many, answer(many, noisy...), op.StatusFail, "G4"},
		{"three times as noisy", many, answer(many, rough...), op.StatusFail, "G4"},
		{"three times as noisy by one error", shared, answer(many, rough...), op.StatusPass, ""},
		{"the errors lean", biased, answer(biased, lean...), op.StatusWarn, "G5"},
	} {
		if v := verdict(c.truth, c.answer); v.Status != c.status || v.Gate != c.gate ||
			(v.Sentence == "") != (c.gate == "") {
			t.Errorf("%s: %v %q (%s), want %v %q", c.name, v.Status, v.Gate, v.Sentence, c.status, c.gate)
		}
	}
}

// plainNumbers returns a truth of many independent numbers whose error bound is a share of them.
func plainNumbers(share float64) Target {
	r := rand.New(rand.NewPCG(11, 11))
	x := make([]float64, 1<<16)
	for i := range x {
		x[i] = r.NormFloat64()
	}
	t := target(op.BF16, x, 0)
	t.TFP32 = make([]float64, len(x))
	for i, v := range x {
		t.T[i] = share * math.Abs(v)
	}
	return t
}

// TestZeroValuesNeverPass: no zero value of a result is a pass.
func TestZeroValuesNeverPass(t *testing.T) {
	var status op.Status
	if status.Weight() != op.Bad || status.String() == op.StatusPass.String() ||
		Row([]Verdict{{}}).Weight() != op.Bad || Row(nil).Weight() != op.Bad {
		t.Errorf("%v weighs %v; a row of the zero verdict is %v, one of none %v", status, status.Weight(),
			Row([]Verdict{{}}), Row(nil))
	}
	if (Relation{}).Accepted() || (Launch{}).InputsUnchanged || (Launch{}).GuardsIntact {
		t.Error("the zero relation or launch is sound")
	}
	for v := range 256 {
		if s := op.Status(v); v > len(op.Statuses()) && s.Weight() != op.Bad {
			t.Errorf("status %d is none and weighs %v", v, s.Weight())
		}
	}
	if v := verdict(target(op.FP32, []float64{1}, 0),
		Answer{Launches: make([]Launch, 2)}); v.Status != op.StatusFail || v.Gate != "G0" {
		t.Errorf("launches that say nothing: %v %s", v.Status, v.Gate)
	}
	if p := PowerOf(Target{}, tensor.Tensor{}, nil); !p.None {
		t.Errorf("no truth has power: %+v", p)
	}
}

// TestIntegersToTheDigit: an output of integers is judged to the digit, and a sentence names all digits.
func TestIntegersToTheDigit(t *testing.T) {
	large := target(op.I32, []float64{math.MaxInt32, math.MinInt32, 5}, 0)
	large.Bits = true
	if v := verdict(large, answer(large, math.MaxInt32, math.MinInt32, 5)); v.Status != op.StatusPass {
		t.Errorf("right integers: %v (%s)", v.Status, v.Sentence)
	}
	v := verdict(large, answer(large, math.MaxInt32-1, math.MinInt32, 5))
	const want = "y[0] is 2147483646, want 2147483647, accepted is that alone; 1 of 3 elements is wrong"
	if v.Status != op.StatusFail || v.Sentence != want {
		t.Errorf("an integer off by one: %v %q, want %q", v.Status, v.Sentence, want)
	}
	var names []string
	for _, w := range trialsOf(large, tensor.Tensor{}, nil) {
		names = append(names, w.name)
		if w.passes(large) {
			t.Errorf("%s passes", w.name)
		}
	}
	if !slices.Contains(names, "off by 1") || slices.Contains(names, "off by 2^-10") {
		t.Errorf("integers are tried with %q", names)
	}
}

// TestBitsOfManyElements: many elements whose bits are compared are all checked, whatever lies between.
func TestBitsOfManyElements(t *testing.T) {
	r := make([]float64, 3*chunk+17)
	for i := range r {
		switch i % 5 {
		case 0:
			r[i] = math.Copysign(0, -1)
		case 1:
			r[i] = nan
		case 2:
			r[i] = inf
		default:
			r[i] = float64(i)
		}
	}
	truth := target(op.FP32, r, 0)
	truth.Bits = true
	if v := verdict(truth, answer(truth, r...)); v.Status != op.StatusPass || v.Compared != int64(len(r)) ||
		v.ULPs[0] != v.Compared-2*((v.Compared+3)/5) {
		t.Errorf("the same bits: %v, %d compared, %d finite and right", v.Status, v.Compared, v.ULPs[0])
	}
	wrong := slices.Clone(r)
	wrong[5], wrong[chunk+1-chunk%5], wrong[len(r)-1] = 0, 7, wrong[len(r)-1]+1
	v := verdict(truth, answer(truth, wrong...))
	if v.Status != op.StatusFail || v.Wrong != 3 {
		t.Errorf("three elements are other bits: %v, %d wrong", v.Status, v.Wrong)
	}
	if again := Rejudge(v); !again.Decided || again.Status != op.StatusFail {
		t.Errorf("judged again: %v (%s)", again.Status, again.Why)
	}
}

// TestElementsThat: one element is no several.
func TestElementsThat(t *testing.T) {
	for want, n := range map[string][2]int64{
		"1 of 1 element is": {1, 1}, "1 of 3 elements is": {1, 3}, "2 of 3 elements are": {2, 3},
	} {
		if got := ElementsThat(n[0], n[1], "is", "are"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
