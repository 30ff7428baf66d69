package ownkernels

import (
	"context"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// fake counts the jobs that reach the worker.
type fake struct {
	ran     int
	outcome backend.Outcome
}

func (f *fake) run(context.Context, backend.Job) (backend.Outcome, error) {
	f.ran++
	return f.outcome, nil
}

func keptJob() backend.Job {
	return backend.Job{
		Implementation: backend.Implementation{Name: "mine/a", Pass: op.Forward}, DType: "fp16",
		Attrs:    []backend.AttrRef{{Name: "causal", Type: "bool", Number: 1}},
		Inputs:   []tensor.Tensor{{Name: "x", DType: op.FP16, Shape: []int64{2}, Data: []byte{1, 2, 3, 4}}},
		Outputs:  []op.TensorType{{Name: "y", DType: op.FP16, Shape: []int64{2}}},
		Launches: []backend.LaunchPlan{{Poison: "nan"}},
	}
}

func plainOutcome() backend.Outcome {
	return backend.Outcome{Launches: []backend.LaunchOutcome{{
		Outputs: []backend.Output{{Tensor: tensor.Tensor{Data: []byte{1, 2, 3, 4}}}},
	}}}
}

// A job of a trial is run once: its outcome is judged in the run that follows, and only once there.
func TestKeptOnce(t *testing.T) {
	k, f := &kept{}, &fake{outcome: plainOutcome()}
	for i, step := range []struct {
		trial bool
		ran   int
	}{{true, 1}, {true, 1}, {false, 1}, {false, 2}, {false, 3}} {
		o, err := k.run(t.Context(), keptJob(), step.trial, f.run)
		if err != nil || f.ran != step.ran || len(o.Launches) != 1 {
			t.Fatalf("step %d: %d jobs ran, want %d (%v, %+v)", i, f.ran, step.ran, err, o)
		}
	}
	if k.bytes != 0 {
		t.Errorf("%d bytes are counted of nothing", k.bytes)
	}
}

// Another job is run: any difference in what a worker receives makes it another one.
func TestKeptIsOfTheSameJob(t *testing.T) {
	for name, change := range map[string]func(*backend.Job){
		"implementation": func(j *backend.Job) { j.Implementation.Name = "mine/b" },
		"pass":           func(j *backend.Job) { j.Implementation.Pass = op.Backward },
		"dtype":          func(j *backend.Job) { j.DType = "bf16" },
		"contract":       func(j *backend.Job) { j.Contract = "tf32" },
		"attribute":      func(j *backend.Job) { j.Attrs[0].Number = 0 },
		"input":          func(j *backend.Job) { j.Inputs[0].Data = []byte{1, 2, 3, 5} },
		"stride":         func(j *backend.Job) { j.Inputs[0].Stride = []int64{2} },
		"offset":         func(j *backend.Job) { j.Inputs[0].Offset = 1 },
		"output":         func(j *backend.Job) { j.Outputs[0].Shape = []int64{1, 2} },
		"poison":         func(j *backend.Job) { j.Launches[0].Poison = "ones" },
		"order":          func(j *backend.Job) { j.Launches[0].Order = backend.OrderReverse },
		"launches":       func(j *backend.Job) { j.Launches = append(j.Launches, j.Launches[0]) },
		"sizes alone":    func(j *backend.Job) { j.SizesAlone = true },
	} {
		k, f := &kept{}, &fake{outcome: plainOutcome()}
		other := keptJob()
		change(&other)
		for _, job := range []backend.Job{keptJob(), other} {
			if _, err := k.run(t.Context(), job, job.DType == "fp16" && f.ran == 0, f.run); err != nil {
				t.Fatal(err)
			}
		}
		if f.ran != 2 {
			t.Errorf("another %s: %d jobs ran, want 2", name, f.ran)
		}
	}
}

// A job that did not return plainly is run again: a crash may happen only once, and every reader must see a
// fault.
func TestNothingElseIsKept(t *testing.T) {
	for name, change := range map[string]func(*backend.Outcome){
		"crash":      func(o *backend.Outcome) { o.Status = op.StatusCrash },
		"declined":   func(o *backend.Outcome) { o.Status = op.StatusUnsupported },
		"ended":      func(o *backend.Outcome) { o.Ended = true },
		"changed":    func(o *backend.Outcome) { o.Launches[0].Changed = []string{"x"} },
		"guard":      func(o *backend.Outcome) { o.Launches[0].Guards = make([]backend.GuardReport, 1) },
		"fault":      func(o *backend.Outcome) { o.Launches[0].Fault = "left a thread" },
		"unfinished": func(o *backend.Outcome) { o.Launches = nil },
		"large": func(o *backend.Outcome) {
			o.Launches[0].Outputs[0].Tensor.Data = make([]byte, keptBytes+1)
		},
	} {
		f := &fake{outcome: plainOutcome()}
		change(&f.outcome)
		k := &kept{}
		for _, trial := range []bool{true, false} {
			if _, err := k.run(t.Context(), keptJob(), trial, f.run); err != nil {
				t.Fatal(err)
			}
		}
		if f.ran != 2 {
			t.Errorf("%s: %d jobs ran, want 2", name, f.ran)
		}
	}
}

// After a stop a job goes to the worker, which reports the stop, even if an outcome is kept.
func TestKeptAfterAStop(t *testing.T) {
	k, f := &kept{}, &fake{outcome: plainOutcome()}
	if _, err := k.run(t.Context(), keptJob(), true, f.run); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := k.run(ctx, keptJob(), false, f.run); err != nil || f.ran != 2 {
		t.Errorf("%v, %d jobs ran: the worker says what a stop is", err, f.ran)
	}
}
