package judge

import (
	"math"
	"strings"
	"testing"

	"triad/internal/op"
	"triad/internal/tensor"
)

// TestReadsThePoison: an element that is read before it is written depends on the poison: that is FAIL, not a
// race. Values that change under one poison, or one of which is right, may be a race.
func TestReadsThePoison(t *testing.T) {
	wanted := target(op.I32, []float64{1, 2, 3}, 0)
	wanted.Bits, wanted.Independent = true, false
	for _, c := range []struct {
		name     string
		launches [][]float64 // poisons a, b, a, b
		status   op.Status
		says     string
	}{
		{
			"adds to what is there",
			[][]float64{{1, 7, 3}, {1, 9, 3}, {1, 7, 3}, {1, 9, 3}},
			op.StatusFail, "y[1] depends on what memory held before",
		},
		{
			"changes under one poison",
			[][]float64{{1, 7, 3}, {1, 9, 3}, {1, 9, 3}, {1, 9, 3}},
			op.StatusRace, "y differs",
		},
		{
			"is right under one",
			[][]float64{{1, 7, 3}, {1, 2, 3}, {1, 7, 3}, {1, 2, 3}},
			op.StatusRace, "y differs",
		},
		{
			"too few launches",
			[][]float64{{1, 7, 3}, {1, 9, 3}},
			op.StatusRace, "y differs",
		},
	} {
		p, a := plan(wanted), Answer{}
		for l, y := range c.launches {
			next := launch(wanted, [2]string{"a", "b"}[l%2], tensor.Encode(op.I32, y))
			a.Launches = append(a.Launches, next)
		}
		p.Launches = len(a.Launches)
		v := Judge(p, a, Truth{Contract: "exact", Outputs: []Target{wanted}})[0]
		if v.Status != c.status || !strings.HasPrefix(v.Sentence, c.says) {
			t.Errorf("%s: %v %q, want %v %q", c.name, v.Status, v.Sentence, c.status, c.says)
		}
	}
}

// TestReadsThePoisonInOneOrder: where all launches had one order, no race chose between a right value and a
// wrong one.
func TestReadsThePoisonInOneOrder(t *testing.T) {
	wanted := target(op.I32, []float64{1, 2, 3}, 0)
	wanted.Bits, wanted.Independent = true, false
	for _, order := range []string{"", "forward"} {
		p, a := plan(wanted), Answer{}
		for l, y := range [][]float64{{1, 2, 3}, {1, 9, 3}, {1, 2, 3}, {1, 9, 3}} {
			next := launch(wanted, [2]string{"a", "b"}[l%2], tensor.Encode(op.I32, y))
			next.Order = order
			a.Launches = append(a.Launches, next)
		}
		p.Launches = len(a.Launches)
		v := Judge(p, a, Truth{Contract: "exact", Outputs: []Target{wanted}})[0]
		want := map[string]op.Status{"": op.StatusRace, "forward": op.StatusFail}[order]
		if v.Status != want || order != "" && v.Wrong != 1 {
			t.Errorf("order %q: %v %q, %d wrong, want %v", order, v.Status, v.Sentence, v.Wrong, want)
		}
	}
}

// TestReadsOrdinaryNumbers: an element that is wrong under ordinary numbers, while the two other launches
// agree on another value, was read before it was written. Where those differ, or the element is right under
// ordinary numbers, it may be a race.
func TestReadsOrdinaryNumbers(t *testing.T) {
	wanted := target(op.I32, []float64{1, 2, 3}, 0)
	wanted.Bits, wanted.Independent = true, false
	for _, c := range []struct {
		name     string
		launches [][]float64 // poisons a, b, ordinary
		status   op.Status
		says     string
	}{
		{
			"recognises the poison",
			[][]float64{{1, 2, 3}, {1, 2, 3}, {1, 0, 3}},
			op.StatusFail,
			"y[1] depends on what memory held before the launch, and is wrong where that was ordinary",
		},
		{"changes before", [][]float64{{1, 2, 3}, {1, 7, 3}, {1, 0, 3}}, op.StatusRace, "y[1] differs"},
		{"is right there alone", [][]float64{{1, 7, 3}, {1, 7, 3}, {1, 2, 3}}, op.StatusRace, "y differs"},
		{"looks at nothing", [][]float64{{1, 2, 3}, {1, 2, 3}, {1, 2, 3}}, op.StatusPass, ""},
	} {
		p, a := plan(wanted), Answer{}
		for l, y := range c.launches {
			poison := [3]string{"a", "b", tensor.Ordinary}[l]
			a.Launches = append(a.Launches, launch(wanted, poison, tensor.Encode(op.I32, y)))
		}
		p.Launches = len(a.Launches)
		v := Judge(p, a, Truth{Contract: "exact", Outputs: []Target{wanted}})[0]
		if v.Status != c.status || !strings.HasPrefix(v.Sentence, c.says) {
			t.Errorf("%s: %v %q, want %v %q", c.name, v.Status, v.Sentence, c.status, c.says)
		}
	}
}

// TestPayloadsOfNaN: arithmetic on poison returns NaN under both poisons, with the payload of each: a wrong
// value and no race. Where the truth is NaN its bits do not matter.
func TestPayloadsOfNaN(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		truth  float64
		status op.Status
		gate   string
	}{{2, op.StatusFail, "G1"}, {nan, op.StatusPass, ""}} {
		wanted := target(op.FP32, []float64{1, c.truth}, 0)
		wanted.Independent = false
		a := answer(wanted, 1, nan)
		b := tensor.Encode(op.FP32, []float64{1, nan})
		b[4] ^= 1
		a.Launches[1] = launch(wanted, "b", b)
		if v := verdict(wanted, a); v.Status != c.status || v.Gate != c.gate ||
			(c.gate != "") != strings.Contains(v.Sentence, "read before it is written") {
			t.Errorf("NaN of other bits for %v: %v %s (%s)", c.truth, v.Status, v.Gate, v.Sentence)
		}
	}
}

// TestIntervalOfIntegersWithinTheirRange: the interval of an integer ends at the range of its dtype where the
// error bound reaches beyond.
func TestIntervalOfIntegersWithinTheirRange(t *testing.T) {
	ends := target(op.I8, []float64{127, -128, 100}, 1.5)
	ends.Independent = false
	if v := verdict(ends, answer(ends, 126, -127, 99)); v.Status != op.StatusPass {
		t.Errorf("a step from the ends of int8: %v (%s)", v.Status, v.Sentence)
	}
	if low, high := ends.Interval(127, 2); low != 125 || high != 127 {
		t.Errorf("the interval of 127 -+ 2 in int8 is %v to %v, want 125 to 127", low, high)
	}
	v := verdict(ends, answer(ends, 120, -127, 99))
	if v.Status != op.StatusFail || v.Worst.Low != 126 || v.Worst.High != 127 {
		t.Errorf("120 for 127 -+ 1.5: %v, accepted is %v to %v", v.Status, v.Worst.Low, v.Worst.High)
	}
}

// TestPoisonOfOneLaunchIsAValue: a value that is the poison of one launch only is a value, as a narrow dtype
// may hold any: the element differs, and was written.
func TestPoisonOfOneLaunchIsAValue(t *testing.T) {
	data := [][]byte{{5}, {6}}
	tensor.Poison(data[0], op.I8, "a")
	found := compareBits(op.I8, 1, []string{"a", "b"}, data)
	if found.unwritten != 0 || found.differing != 1 {
		t.Errorf("%+v", found)
	}
	tensor.Poison(data[1], op.I8, "b")
	if found := compareBits(op.I8, 1, []string{"a", "b"}, data); found.unwritten != 1 {
		t.Errorf("both poisons: %+v", found)
	}
}
