package smallestcase

import (
	"testing"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/truth"
)

// TestOnlyAt: the one value of an input at which a gradient of relu is wrong is named, and none where
// elements with another value are wrong, or where the function stopped.
func TestOnlyAt(t *testing.T) {
	o, err := truth.Get("relu")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{
		Pass: op.Backward, DType: "fp32", Distribution: "non_finite", Upstream: "normal",
	}, map[string]int64{"n": 257}, nil)
	if err != nil {
		t.Fatal(err)
	}
	inputs, err := o.Inputs(c, 1)
	if err != nil {
		t.Fatal(err)
	}
	// wrongWhere returns the record of a gradient that is wrong at these values of x.
	wrongWhere := func(wrong func(x float64) bool) record.Record {
		v := record.Verdict{Name: "grad_x", Status: op.StatusFail, N: 257, NCompared: 257}
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
	zeroOrNaN := wrongWhere(func(x float64) bool { return x == 0 || x != x })
	crash := zero
	crash.Status = op.StatusCrash
	for want, records := range map[string][]record.Record{
		"x = 0":        {zero, zero},
		"x = 0 or NaN": {zero, zeroOrNaN},
		"":             {zero, wrongWhere(func(x float64) bool { return x <= 0 })},
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
