package run

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// configured is a backend whose jobs end with an outcome for the configuration that they ask for.
type configured struct {
	backend.Backend
	asked []string
	ends  map[string]backend.Outcome
}

func (b *configured) Run(_ context.Context, job backend.Job) (backend.Outcome, error) {
	for _, l := range job.Launches {
		b.asked = append(b.asked, l.Order+" "+l.Poison)
	}
	return b.ends[job.Launches[0].Order], nil
}

// Each configuration but the first is launched as the case is; the first that is wrong ends the record, and
// names what autotune takes.
func TestEachConfiguration(t *testing.T) {
	o, err := truth.Get("relu")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick, DTypes: []string{"fp32"}})
	if err != nil {
		t.Fatal(err)
	}
	planned := []work{{operator: o, Case: plan.Cases[0]}}
	if err := markConfigured(planned); err != nil {
		t.Fatal(err)
	}
	if !planned[0].configured {
		t.Error("the only case of its dtype is not marked")
	}
	names := []string{"BLOCK=64", "BLOCK=32", "BLOCK=16"}
	for _, of := range []struct {
		marked bool
		names  []string
		want   string
		asked  int
	}{
		{true, names, "CRASH exited 7; so it is where autotune takes its configuration 3 of 3, BLOCK=16", 4},
		{true, names[:1], "PASS ", 0},
		{true, nil, "PASS ", 0},
		{false, names, "PASS ", 0},
	} {
		x := &execution{Runner: &Runner{}, request: Request{Seed: 1}, result: &Result{}}
		planned[0].configured = of.marked
		c, err := x.prepare(planned[0])
		if err != nil {
			t.Fatal(err)
		}
		b := &configured{ends: map[string]backend.Outcome{
			"configuration 1": {}, "configuration 2": {Status: op.StatusCrash, Sentence: "exited 7"},
		}}
		e := entry{backend: b, implementation: backend.Implementation{
			Name: "fake/row", Op: "relu", Contract: "fp32", Device: "interpreter", Outputs: []string{"y"},
		}}
		b.ends["configuration 1"] = rightAnswer(c.given[0], c.launches("interpreter", op.LevelQuick))
		r := record.Record{Status: op.StatusPass, Outputs: []record.Verdict{{Name: "y"}}}
		var found []op.Finding
		outcome := backend.Outcome{Configurations: of.names}
		if err := x.eachConfiguration(t.Context(), c, e, outcome, &r, &found); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(r.Status, " ", r.Message); got != of.want || len(b.asked) != of.asked {
			t.Errorf("%q after %q, want %q after %d launches", got, b.asked, of.want, of.asked)
		}
	}
}

// rightAnswer is an outcome whose launches give relu of x in fp32.
func rightAnswer(x tensor.Tensor, launches []backend.LaunchPlan) backend.Outcome {
	var outcome backend.Outcome
	for _, plan := range launches {
		y := x
		y.Name, y.Data = "y", slices.Clone(y.Data)
		for i := 0; i < len(y.Data); i += 4 {
			if y.Data[i+3]&0x80 != 0 {
				copy(y.Data[i:i+4], make([]byte, 4))
			}
		}
		outcome.Launches = append(outcome.Launches, backend.LaunchOutcome{
			Plan: plan, Outputs: []backend.Output{{
				OutputRef: backend.OutputRef{
					Name: "y", Present: true, DType: "fp32", Shape: y.Shape,
					Stride: tensor.Contiguous(y.Shape),
				},
				Tensor: y,
			}},
		})
	}
	return outcome
}

// The cases on which configurations are judged are ordinary, few, and of moderate sizes where there are some.
func TestMarkConfigured(t *testing.T) {
	for _, o := range truth.All() {
		plan, err := o.Spec.Expand(op.Options{Level: op.LevelQuick})
		if err != nil {
			t.Fatal(err)
		}
		var planned []work
		for _, c := range plan.Cases {
			planned = append(planned, work{operator: o, Case: c})
		}
		if err := markConfigured(planned); err != nil {
			t.Fatal(err)
		}
		marked := map[string]int{}
		for _, w := range planned {
			key := fmt.Sprint(w.Pass, " ", w.DType)
			marked[key] += 0
			if !w.configured {
				continue
			}
			marked[key]++
			if w.Layout != "contiguous" || !strings.Contains(" normal", " "+w.Upstream) {
				t.Errorf("%s: %v is marked", o.Spec.Name, w.Case)
			}
		}
		for key, n := range marked {
			if n == 0 || n > configuredCases {
				t.Errorf("%s %s: %d cases are marked", o.Spec.Name, key, n)
			}
		}
	}
}
