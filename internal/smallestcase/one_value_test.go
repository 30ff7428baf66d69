package smallestcase

import (
	"testing"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/truth"
)

// ofOneSize returns an operator of one size with a gradient of its first input.
func ofOneSize(t *testing.T) *truth.Operator {
	t.Helper()
	for _, o := range truth.All() {
		b := o.Spec.Backward
		if len(o.Spec.Dims) == 1 && b != nil && !b.Chained && len(b.Outputs) == 1 && len(b.Inputs) == 2 {
			return o
		}
	}
	t.Fatal("there is none")
	return nil
}

// TestOnlyAt: the one value of an input at which a gradient is wrong is named, and none where
// elements with another value are wrong, or where the function stopped.
func TestOnlyAt(t *testing.T) {
	o := ofOneSize(t)
	c, err := o.Spec.NewCase(op.Case{
		Pass: op.Backward, DType: "fp32", Distribution: "non_finite", Upstream: "normal",
	}, map[string]int64{o.Spec.Dims[0].Name: 257}, nil)
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := o.Inputs(c, 1)
	if err != nil {
		t.Fatal(err)
	}
	// wrongWhere returns the record of a gradient that is wrong at these values of x.
	wrongWhere := func(wrong func(x float64) bool) record.Record {
		v := record.Verdict{Name: o.Spec.Backward.Outputs[0], Status: op.StatusFail, N: 257, NCompared: 257}
		v.Statistics = &record.Statistics{}
		for i, x := range inputs[0].Float64s() {
			if wrong(x) {
				v.NWrong++
				if len(v.Statistics.Worst) < 16 {
					v.Statistics.Worst = append(v.Statistics.Worst, record.Judged{Index: []int64{int64(i)}})
				}
			}
		}
		return record.Record{
			Impl: "mine/r", Case: c, Seed: 1, Status: op.StatusFail, Outputs: []record.Verdict{v},
		}
	}
	zero := wrongWhere(func(x float64) bool { return x == 0 })
	name := inputs[0].Name
	zeroOrNaN := wrongWhere(func(x float64) bool { return x == 0 || x != x })
	negative := wrongWhere(func(x float64) bool { return x < 0 })
	negative.Case.Upstream = "non_finite"
	crash := zero
	crash.Status = op.StatusCrash
	for want, records := range map[string][]record.Record{
		name + " = 0":        {zero, zero},
		name + " = 0 or NaN": {zero, zeroOrNaN},
		"":                   {zero, wrongWhere(func(x float64) bool { return x <= 0 })},
		name + " = 0, and where the upstream gradient is not finite": {zero, negative},
	} {
		j := Judged{
			Request: run.Request{Operators: []*truth.Operator{o}}, Result: run.Result{Records: records},
		}
		if got := j.onlyAt(records[0]); got != want {
			t.Errorf("%q, want %q", got, want)
		}
		j.Result.Records = append(j.Result.Records, crash)
		if got := j.onlyAt(records[0]); got != "" {
			t.Errorf("of a function that stops too: %q", got)
		}
	}
}
