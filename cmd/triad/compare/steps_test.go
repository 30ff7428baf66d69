package compare

import (
	"bytes"
	"strings"
	"testing"

	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/participants"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/session"
	"triad/internal/truth"
)

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
	a := &Verb{Setup: &runsetup.Setup{Source: participants.Source{Workers: &machine.Workers{
		Console: &console.Console{
			Out: &out,
			Err: &errs,
		},
	}}}}
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
