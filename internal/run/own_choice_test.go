package run

import (
	"context"
	"slices"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// dropouts is a backend in this process whose implementations of dropout choose by their own random numbers.
type dropouts struct {
	backend.Backend // nil: nothing else of it is called
	// keeps reports by implementation whether a call keeps an element
	keeps    map[string]func(pass op.Pass, call, i int) bool
	calls    int
	operator string
}

func (d *dropouts) Name() string       { return "fake" }
func (d *dropouts) Families() []string { return []string{"fake"} }
func (d *dropouts) Close() error       { return nil }

func (d *dropouts) Load(context.Context, string) (backend.LoadReply, backend.HelloReply, error) {
	var reply backend.LoadReply
	for name := range d.keeps {
		for pass, output := range map[op.Pass]string{op.Forward: "y", op.Backward: "grad_x"} {
			reply.Implementations = append(reply.Implementations, backend.Implementation{
				Name: name, Op: d.operator, Pass: pass, DTypes: []string{"fp32"}, Contract: "fp32",
				Outputs: []string{output}, Device: "cpu", Draws: "its numbers are its own",
			})
		}
	}
	return reply, backend.HelloReply{}, nil
}

func (d *dropouts) Run(_ context.Context, job backend.Job) (backend.Outcome, error) {
	var outcome backend.Outcome
	for _, plan := range job.Launches {
		d.calls++
		x := job.Inputs[0].Float64s()
		for i := range x {
			if !d.keeps[job.Implementation.Name](job.Implementation.Pass, d.calls, i) {
				x[i] = 0
			}
			x[i] *= 2
		}
		launch := backend.LaunchOutcome{Plan: plan}
		for _, o := range job.Outputs {
			out := tensor.New(o.Name, o.DType, o.Shape)
			present := o.Name != "mask"
			if present {
				out.SetFloat64s(x)
			}
			launch.Outputs = append(launch.Outputs, backend.Output{Tensor: out, OutputRef: backend.OutputRef{
				Name: o.Name, Present: present, DType: o.DType.String(), Shape: o.Shape, Stride: out.Stride,
			}})
		}
		outcome.Launches = append(outcome.Launches, launch)
	}
	return outcome, nil
}

// TestGradientOfAnOwnChoice: the gradient of a function that draws its own random numbers is judged by the
// elements that its forward keeps, if they are the same in each call and as many as the probability says.
func TestGradientOfAnOwnChoice(t *testing.T) {
	all := truth.All()
	o := all[slices.IndexFunc(all, func(o *truth.Operator) bool { return o.Spec.Own.Seed != "" })]
	d := &dropouts{operator: o.Spec.Name, keeps: map[string]func(op.Pass, int, int) bool{
		"fake/same":  func(_ op.Pass, _, i int) bool { return i%4 < 2 },
		"fake/other": func(pass op.Pass, _, i int) bool { return (i%4 < 2) == (pass == op.Forward) },
		"fake/none":  func(op.Pass, int, int) bool { return false },
		"fake/new":   func(_ op.Pass, call, i int) bool { return (i+call)%4 < 2 },
	}}
	r := &Runner{Backends: []backend.Backend{d}, Recorder: &memory{}, Stop: t.Context()}
	result, err := r.Compare(t.Context(), Request{
		Operators: []*truth.Operator{o}, Seed: 1,
		Options: op.Options{
			DTypes: []string{"fp32"}, Dims: map[string]int64{"n": 1024}, Distributions: []string{"normal"},
			Attributes: map[string]string{"p": "0.5", "seed": "1", "offset": "0"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]op.Status{
		"fake/same": op.StatusPass, "fake/other": op.StatusFail, "fake/none": op.StatusFail,
		"fake/new": op.StatusUnsupported,
	}
	judged := map[string]record.Record{}
	for _, r := range result.Records {
		if r.Case.Pass == op.Backward {
			judged[r.Impl] = r
		} else if r.Status != op.StatusUnsupported || r.Message != "its numbers are its own" {
			t.Errorf("forward of %s: %v %s", r.Impl, r.Status, r.Message)
		}
	}
	for name, status := range want {
		if judged[name].Status != status {
			t.Errorf("%s: %v %q, want %v", name, judged[name].Status, judged[name].Message, status)
		}
	}
	if says := judged["fake/new"].Message; !strings.Contains(says, "with the same seed differ") {
		t.Errorf("of a choice that changes it says %q", says)
	}
}
