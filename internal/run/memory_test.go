package run

import (
	"context"
	"slices"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// emulated is a backend that answers every job with a function.
type emulated struct {
	backend.Backend
	run func(backend.Job) backend.Outcome
}

func (e emulated) Run(_ context.Context, job backend.Job) (backend.Outcome, error) {
	return e.run(job), nil
}

// exactCase returns a case of an operator on vectors under the contract exact. If ordinary is set, it is also
// launched into ordinary numbers.
func exactCase(t *testing.T, ordinary bool) (*execution, *prepared) {
	t.Helper()
	for _, o := range truth.All() {
		plan, err := o.Spec.Expand(op.Options{
			Level: op.LevelQuick, Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
			Dims: map[string]int64{"n": 7}, Distributions: []string{"normal"},
		})
		if err != nil || len(plan.Cases) == 0 || o.Spec.DefaultContract("fp32") != "exact" {
			continue
		}
		if outputs, err := o.Spec.Outputs(plan.Cases[0]); err != nil || len(outputs) != 1 ||
			outputs[0].Name != "y" || outputs[0].DType != op.FP32 || outputs[0].Elements() != 7 {
			continue
		}
		x := &execution{Runner: &Runner{}, request: Request{Seed: 1}, result: &Result{}}
		c, err := x.prepare(work{operator: o, Case: plan.Cases[0], ordinary: ordinary})
		if err != nil {
			t.Fatal(err)
		}
		return x, c
	}
	t.Fatal("there is no such operator")
	return nil, nil
}

func exactEntry(c *prepared, name, device string, b backend.Backend) entry {
	return entry{backend: b, implementation: backend.Implementation{
		Name: name, Op: c.Op, Pass: op.Forward, Contract: "exact", Device: device, Outputs: []string{"y"},
	}}
}

// TestEdges: a user's file that passed is launched without a byte around its buffers, on the marked case and
// where an output depends on what memory held. Only an access out of bounds counts there.
func TestEdges(t *testing.T) {
	of := func(status op.Status, gate string) record.Record {
		y := record.Verdict{Name: "y", Status: status, Gate: gate}
		return record.Record{Status: status, Outputs: []record.Verdict{y}}
	}
	passed, depends, wrong := of(op.StatusPass, ""), of(op.StatusFail, "G0"), of(op.StatusFail, "G2")
	for _, c := range []struct {
		name, device string
		ordinary     bool
		before       record.Record
		found, want  op.Status
		asked        bool
	}{
		{"mine/a.cu", "emulator", true, passed, op.StatusOutOfBounds, op.StatusOutOfBounds, true},
		{"mine/a.cu", "emulator", true, passed, op.StatusCrash, op.StatusPass, true},
		{"mine/a.cu", "emulator", true, passed, op.StatusUnknown, op.StatusPass, true},
		{"mine/a.cu", "emulator", false, passed, op.StatusOutOfBounds, op.StatusPass, false},
		{"mine/a.cu", "emulator", false, depends, op.StatusOutOfBounds, op.StatusOutOfBounds, true},
		{"mine/a.cu", "emulator", true, wrong, op.StatusOutOfBounds, op.StatusFail, false},
		{"mine/a.cu", "gpu", true, passed, op.StatusOutOfBounds, op.StatusPass, false},
		{"cuda/warp", "emulator", true, passed, op.StatusOutOfBounds, op.StatusPass, false},
	} {
		x, p := exactCase(t, c.ordinary)
		var places []string
		e := exactEntry(p, c.name, c.device, emulated{run: func(job backend.Job) backend.Outcome {
			for _, l := range job.Launches {
				places = append(places, l.Place)
			}
			return backend.Outcome{Status: c.found, Sentence: "beside x", Where: &backend.Where{Line: 7}}
		}})
		r := c.before
		if err := x.edges(t.Context(), p, e, &r); err != nil {
			t.Fatal(err)
		}
		want := []string{backend.PlaceExactBegin, backend.PlaceExactEnd}
		if (len(places) > 0) != c.asked || c.asked && !slices.Equal(places, want) || r.Status != c.want ||
			r.Status == op.StatusOutOfBounds && (r.Message != "beside x" || r.Where == nil) {
			t.Errorf("%+v: launched at %q, %v %q", c, places, r.Status, r.Message)
		}
	}
}

// TestMemoryOrOrder: a difference is a race if launches in a single order differ by chance, or if they all
// agree. If they differ exactly as their memory did, it is the memory.
func TestMemoryOrOrder(t *testing.T) {
	for _, c := range []struct {
		name string
		y    func(l backend.LaunchPlan, n int) float64
		want op.Status
	}{
		{"follows the memory", func(l backend.LaunchPlan, _ int) float64 {
			return map[string]float64{"a": 1, "b": 2}[l.Poison]
		}, op.StatusFail},
		{"changes by chance", func(_ backend.LaunchPlan, n int) float64 {
			return float64(n / 2)
		}, op.StatusRace},
		{"follows the order", func(backend.LaunchPlan, int) float64 { return 1 }, op.StatusRace},
	} {
		x, p := exactCase(t, false)
		orders := map[string]bool{}
		e := exactEntry(p, "mine/a.cu", "emulator", emulated{run: func(job backend.Job) (o backend.Outcome) {
			for n, l := range job.Launches {
				orders[l.Order] = true
				y := make([]float64, 7)
				for i := range y {
					y[i] = c.y(l, n)
				}
				o.Launches = append(o.Launches, backend.LaunchOutcome{Plan: l, Outputs: []backend.Output{{
					OutputRef: backend.OutputRef{
						Name: "y", Present: true, DType: "fp32", Shape: []int64{7}, Stride: []int64{1},
					},
					Tensor: tensor.Tensor{
						Name: "y", DType: op.FP32, Shape: []int64{7}, Stride: []int64{1},
						Data: tensor.Encode(op.FP32, y),
					},
				}}})
			}
			return o
		}})
		r := record.Record{Status: op.StatusRace, Message: "y differs"}
		if err := x.memoryOrOrder(t.Context(), p, e, &r); err != nil {
			t.Fatal(err)
		}
		if r.Status != c.want || len(orders) != 1 {
			t.Errorf("%s: %v %q in %d orders, want %v in one", c.name, r.Status, r.Message, len(orders),
				c.want)
		}
	}
}
