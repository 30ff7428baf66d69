package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"triad/cmd/triad/console"
	"triad/cmd/triad/workers"
	"triad/internal/op"
	"triad/internal/run"
	"triad/internal/session"
	"triad/internal/truth"
)

// TestWithBackward: an operator without a backward is refused by name, and left out of all.
func TestWithBackward(t *testing.T) {
	softmax, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	bare := *softmax.Spec
	bare.Name, bare.Backward = "argmax", nil
	argmax := &truth.Operator{Spec: &bare}
	if _, err := withBackward([]*truth.Operator{softmax, argmax}, false); err == nil ||
		!strings.HasPrefix(err.Error(), "argmax has no backward") {
		t.Errorf("by name: %v", err)
	} else if f := new(session.Failure); !errors.As(err, &f) || f.Code != session.ExitUsage {
		t.Errorf("by name: %v, want exit code 2", err)
	}
	if got, err := withBackward([]*truth.Operator{argmax, softmax}, true); err != nil || len(got) != 1 ||
		got[0] != softmax {
		t.Errorf("of all: %v, %v", got, err)
	}
	if _, err := withBackward([]*truth.Operator{argmax}, true); err == nil {
		t.Error("nothing left to check, and no error")
	}
}

// TestStepsThatDisagree: a truth that the complex step does not confirm makes the run bad, and is reported
// even with JSON.
func TestStepsThatDisagree(t *testing.T) {
	good := run.Step{Case: op.Case{Op: "softmax"}, Step: truth.Step{
		Gradients: []string{"grad_x"},
		Error:     3e-15, Worst: "grad_x",
	}}
	bad := run.Step{Case: op.Case{Op: "rope"}, Step: truth.Step{
		Gradients: []string{"grad_q"}, Error: 3e-9,
		Worst: "grad_q",
	}}
	if !session.Proven([]run.Step{good}) || session.Proven([]run.Step{good, bad}) {
		t.Error("proven is not what its steps are")
	}
	var out, errs bytes.Buffer
	a := &app{Workers: &workers.Workers{Console: &console.Console{Out: &out, Err: &errs}}}
	if err := a.printSteps([]run.Step{good, bad}, false); err != nil {
		t.Fatal(err)
	}
	want := "truth of softmax: complex step agrees to 3e-15 (grad_x)\ntruth of rope: complex step is 3e-09 " +
		"away in grad_q: want at most 1e-13\n\n"
	if out.String() != want || errs.Len() > 0 {
		t.Errorf("%q, %q", out.String(), errs.String())
	}
	out.Reset()
	if err := a.printSteps([]run.Step{good, bad}, true); err != nil || out.Len() > 0 ||
		!strings.HasPrefix(errs.String(), "truth of rope") {
		t.Errorf("beside JSON: %v, %q, %q", err, out.String(), errs.String())
	}
}
