package smallestcase

import (
	"context"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/backend/backendtest"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/shrink"
	"triad/internal/timing"
	"triad/internal/truth"
)

// rightOnGPU is a backend with one right softmax for two columns, on a GPU that must not be timed.
type rightOnGPU struct{ t *testing.T }

func (rightOnGPU) Name() string       { return "mine" }
func (rightOnGPU) Families() []string { return []string{"mine"} }
func (rightOnGPU) Close() error       { return nil }

func (rightOnGPU) Load(context.Context, string) (backend.LoadReply, backend.HelloReply, error) {
	return backend.LoadReply{Implementations: []backend.Implementation{{
		Name: "mine/right", Op: "softmax", Pass: op.Forward, DTypes: []string{"fp32"},
		Contract: "fp32", Outputs: []string{"y"}, Device: "gpu",
	}}}, backend.HelloReply{}, nil
}

func (rightOnGPU) Run(_ context.Context, job backend.Job) (backend.Outcome, error) {
	return backendtest.SoftmaxOfTwo(job), nil
}

func (b rightOnGPU) Measure(context.Context, backend.MeasureJob) (backend.Candidate, backend.Outcome, error) {
	b.t.Error("a probe is timed")
	return nil, backend.Outcome{Status: op.StatusUnsupported}, nil
}

// TestProbesAreNotTimed: the probes of the search for the smallest case are not timed, even if their
// comparison is.
func TestProbesAreNotTimed(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32"}, map[string]int64{"rows": 3, "cols": 2},
		nil)
	if err != nil {
		t.Fatal(err)
	}
	request := run.Request{
		Operators: []*truth.Operator{o}, Seed: 1, Timing: timing.ComparePlan(),
		Options: op.Options{Device: "gpu"},
	}
	base := record.Record{Impl: "mine/right", Case: c}
	p := &prober{
		ctx: t.Context(), backends: []backend.Backend{rightOnGPU{t}}, request: request, base: base,
		until: time.Now().Add(time.Minute),
	}
	r := p.run(shrink.Probe{Sizes: shrink.Sizes{"rows": 3, "cols": 2}, Distribution: "normal"})
	if r == nil || r.Status != op.StatusPass {
		t.Errorf("%+v", r)
	}
}
