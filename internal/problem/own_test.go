package problem

import (
	"encoding/json"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	tensors "triad/internal/tensor"
)

// TestMakes: the format makes forward calls of dense tensors at the problem's own sizes, and no others.
func TestMakes(t *testing.T) {
	plan := &Plan{}
	if err := json.Unmarshal([]byte(`{"own": {"rows": 16, "groups": 4}, "constants": {
		"rows": {"input": 0, "axis": 0}, "groups": {"attribute": "groups"},
		"slope": {"attribute": "slope"}}}`),
		plan); err != nil {
		t.Fatal(err)
	}
	call := func(pass op.Pass, rows, offset int64, groups float64) backend.Job {
		x := tensors.New("x", op.FP32, []int64{rows, 3})
		x.Offset = offset
		return backend.Job{
			Implementation: backend.Implementation{Pass: pass}, Inputs: []tensors.Tensor{x},
			Attrs: []backend.AttrRef{{Name: "slope", Number: 0.5}, {Name: "groups", Number: groups}},
		}
	}
	gaps := call(op.Forward, 16, 0, 4)
	gaps.Inputs[0].Stride = []int64{4, 1}
	empty := call(op.Forward, 16, 0, 4)
	empty.Inputs = nil
	for name, c := range map[string]struct {
		job  backend.Job
		want bool
	}{
		"its own":        {call(op.Forward, 16, 4, 4), true},
		"a gradient":     {call(op.Backward, 16, 0, 4), false},
		"other rows":     {call(op.Forward, 17, 0, 4), false},
		"other groups":   {call(op.Forward, 16, 0, 2), false},
		"an odd address": {call(op.Forward, 16, 1, 4), false},
		"gaps":           {gaps, false},
		"no input":       {empty, false},
	} {
		if got := plan.Makes(c.job); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
