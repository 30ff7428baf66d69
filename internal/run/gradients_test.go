package run

import (
	"context"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// gradients is a backend in this process that computes softmax and its gradient in fp64, with the deviations
// of each implementation.
type gradients struct {
	backend.Backend // nil: nothing else of it is called
	rows            []backend.Implementation
	// spoil changes a launch of a backward, counted over the parts of a job
	spoil map[string]func(y []float64, launch int)
	// forwards holds what a forward returns instead of y
	forwards map[string]backend.OutputRef
	mu       sync.Mutex
	launched map[string]int // launches of backwards on the moderate case
	longest  int            // launches of one job
	orders   []string
}

func (g *gradients) Name() string       { return "fake" }
func (g *gradients) Families() []string { return []string{"fake"} }
func (g *gradients) Close() error       { return nil }

func (g *gradients) Load(context.Context, string) (backend.LoadReply, backend.HelloReply, error) {
	return backend.LoadReply{Implementations: g.rows}, backend.HelloReply{}, nil
}

func (g *gradients) Run(_ context.Context, job backend.Job) (backend.Outcome, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name := job.Implementation.Name
	g.longest = max(g.longest, len(job.Launches))
	var outcome backend.Outcome
	for _, plan := range job.Launches {
		var y []float64
		if job.Implementation.Pass == op.Forward {
			y = softmax(job.Inputs[0])
		} else {
			y = softmaxGradient(job.Inputs[0], job.Inputs[1])
			if spoil := g.spoil[name]; spoil != nil {
				spoil(y, g.launched[name])
			}
			g.launched[name]++
			g.orders = append(g.orders, plan.Order)
		}
		out := tensor.New(job.Outputs[0].Name, job.Outputs[0].DType, job.Outputs[0].Shape)
		out.SetFloat64s(y)
		ref := backend.OutputRef{
			Name: out.Name, Present: true, DType: out.DType.String(), Shape: out.Shape,
			Stride: out.Stride,
		}
		if other, ok := g.forwards[name]; ok && job.Implementation.Pass == op.Forward {
			ref = other
		}
		outcome.Launches = append(outcome.Launches, backend.LaunchOutcome{
			Plan:    plan,
			Outputs: []backend.Output{{Tensor: out, OutputRef: ref}},
		})
	}
	return outcome, nil
}

// softmaxGradient returns y * (dy - sum y*dy) by rows.
func softmaxGradient(saved, upstream tensor.Tensor) []float64 {
	y, dy, cols := saved.Float64s(), upstream.Float64s(), int(saved.Shape[1])
	dx := make([]float64, len(y))
	for r := 0; r < len(y); r += cols {
		dot := 0.0
		for c := r; c < r+cols; c++ {
			dot += y[c] * dy[c]
		}
		for c := r; c < r+cols; c++ {
			dx[c] = y[c] * (dy[c] - dot)
		}
	}
	return dx
}

func (g *gradients) row(name, device string) *backend.Implementation {
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		outputs := map[op.Pass][]string{op.Forward: {"y"}, op.Backward: {"grad_x"}}[pass]
		g.rows = append(g.rows, backend.Implementation{
			Name: name, Op: "softmax", Pass: pass, DTypes: []string{"fp32"}, Contract: "fp32",
			Outputs: outputs,
			Device:  device,
		})
	}
	return &g.rows[len(g.rows)-1]
}

// check runs a gradcheck of one chained case through the fake.
func (g *gradients) check(t *testing.T, level op.Level) (Result, map[string]record.Record) {
	t.Helper()
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	g.launched = map[string]int{}
	r := &Runner{Backends: []backend.Backend{g}, Recorder: &memory{}, Stop: t.Context()}
	result, err := r.Compare(t.Context(), Request{
		Operators: []*truth.Operator{o}, Seed: 1, Gradients: true,
		Options: op.Options{
			Level:  level,
			Passes: []op.Pass{op.Backward}, DTypes: []string{"fp32"}, Dims: map[string]int64{
				"rows": 5,
				"cols": 33,
			}, Saved: []string{"own"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]record.Record{}
	for _, r := range result.Records {
		byName[r.Impl] = r
	}
	return result, byName
}

// TestGradientLaunches: a gradcheck launches 5 times, 250 times on the full level, and once more into
// ordinary numbers, in short jobs, and compares the truth with the complex step.
func TestGradientLaunches(t *testing.T) {
	for _, c := range []struct {
		device string
		level  op.Level
		want   int
	}{
		{"cpu", op.LevelDefault, 5},
		{"emulator", op.LevelQuick, 5},
		{"cpu", op.LevelFull, 250},
		{"emulator", op.LevelFull, 250},
	} {
		g := &gradients{}
		g.row("fake/right", c.device)
		result, records := g.check(t, c.level)
		// One more is the second call of a relation: a doubled upstream gradient.
		if r := records["fake/right"]; r.Status != op.StatusPass || r.Launches != c.want+1 ||
			g.launched["fake/right"] != c.want+2 {
			t.Errorf("%s %v: %v (%s), %d launches recorded, %d made, want %d, one into ordinary numbers and "+
				"one more", c.device, c.level,
				r.Status, r.Message, r.Launches, g.launched["fake/right"], c.want)
		}
		if g.longest > launchesPerJob {
			t.Errorf("a job of %d launches, want at most %d", g.longest, launchesPerJob)
		}
		if len(result.Steps) != 1 || !result.Steps[0].Agrees() || result.Steps[0].Case.Op != "softmax" {
			t.Errorf("steps %v", result.Steps)
		}
		if orders := slices.Compact(slices.Sorted(slices.Values(g.orders))); c.device == "emulator" &&
			len(orders) != c.want {
			t.Errorf("%d orders of %d launches in the emulator: want another for each", len(orders), c.want)
		}
	}
}

// TestGradientsThatVary: bits that change in a late launch are found, whether they may change or not; a
// second launch that adds to the first is such a change.
func TestGradientsThatVary(t *testing.T) {
	at := func(n int, change func(y []float64)) func([]float64, int) {
		return func(y []float64, launch int) {
			if launch == n {
				change(y)
			}
		}
	}
	ulp := func(y []float64) { y[7] *= 1 + 0x1p-23 }
	double := func(y []float64) { y[7] *= 2 }
	sum := make([]float64, 5*33)
	g := &gradients{spoil: map[string]func([]float64, int){
		"fake/late": at(4, ulp), "fake/very_late": at(249, ulp), "fake/declared": at(4, ulp),
		"fake/declared_far": at(4, double), "fake/adds": func(y []float64, _ int) {
			for i := range y {
				sum[i] += y[i]
				y[i] = sum[i]
			}
		},
	}}
	for _, name := range []string{"fake/late", "fake/very_late", "fake/adds"} {
		g.row(name, "cpu")
	}
	for _, name := range []string{"fake/declared", "fake/declared_far"} {
		g.row(name, "cpu").Nondeterministic = []string{"grad_x"}
	}
	want := map[string]op.Status{
		"fake/late": op.StatusRace, "fake/very_late": op.StatusPass, "fake/declared": op.StatusPass,
		"fake/declared_far": op.StatusFail,
		"fake/adds":         op.StatusRace,
	}
	for _, level := range []op.Level{op.LevelDefault, op.LevelFull} {
		clear(sum)
		if level == op.LevelFull {
			want["fake/very_late"] = op.StatusRace
		}
		_, records := g.check(t, level)
		for name, status := range want {
			if r := records[name]; r.Status != status {
				t.Errorf("%v %s: %v (%s), want %v", level, name, r.Status, r.Message, status)
			}
		}
	}
}

// TestChainedForwards: a backward is reported as such if the forward it is chained to is missing or does not
// give what it takes; the others are judged.
func TestChainedForwards(t *testing.T) {
	g := &gradients{forwards: map[string]backend.OutputRef{
		"fake/absent": {Name: "y"}, "fake/wide": {
			Name: "y", Present: true, DType: "fp64",
			Shape: []int64{5, 33},
		},
		"fake/turned": {Name: "y", Present: true, DType: "fp32", Shape: []int64{33, 5}},
	}}
	for _, name := range []string{"fake/absent", "fake/wide", "fake/turned", "fake/right"} {
		g.row(name, "cpu")
	}
	g.row("fake/orphan", "cpu").Forward = "nowhere"
	_, records := g.check(t, op.LevelDefault)
	for name, want := range map[string]struct {
		status op.Status
		words  string
	}{
		"fake/right":  {op.StatusPass, ""},
		"fake/absent": {op.StatusMissing, "its forward fake/absent does not give y"},
		"fake/wide":   {op.StatusFail, "its forward fake/wide gives y as fp64 [5 33], want fp32 [5 33]"},
		"fake/turned": {op.StatusFail, "its forward fake/turned gives y as fp32 [33 5], want fp32 [5 33]"},
		"fake/orphan": {
			op.StatusMissing,
			"fake/orphan is chained to a forward fake/nowhere, which is not there",
		},
	} {
		if r := records[name]; r.Status != want.status || !strings.Contains(r.Message, want.words) {
			t.Errorf("%s: %v (%s), want %v (%s)", name, r.Status, r.Message, want.status, want.words)
		}
	}
}

// TestMarkModerate: the moderate case is ordinary and of some size.
func TestMarkModerate(t *testing.T) {
	for _, o := range truth.All() {
		if o.Spec.Backward == nil {
			continue
		}
		for _, level := range []op.Level{op.LevelQuick, op.LevelDefault, op.LevelFull} {
			planned := plannedOf(t, o, op.Options{Level: level, Passes: []op.Pass{op.Backward}})
			if err := markModerate(planned); err != nil {
				t.Fatal(err)
			}
			marked := map[string]int64{}
			for _, w := range planned {
				if !w.moderate {
					continue
				}
				if marked[w.DType] != 0 || w.Distribution != "normal" || w.Layout != "contiguous" ||
					w.Upstream != "normal" {
					t.Errorf("%s %v: %v is marked", o.Spec.Name, level, w.Case)
				}
				elements, _, err := o.Spec.Footprint(w.Case)
				if err != nil || elements > moderateElements || elements < 1000 {
					t.Errorf("%s %v: %d elements, %v", o.Spec.Name, level, elements, err)
				}
				marked[w.DType] = max(elements, 1)
			}
			if len(marked) != len(o.Spec.PassDTypes(op.Backward)) {
				t.Errorf("%s %v: marked for %v", o.Spec.Name, level, marked)
			}
		}
	}
	if a, b := moderate(math.MaxInt32, op.Case{}), moderate(10, op.Case{Saved: "driver"}); a >= b {
		t.Errorf("a huge chained case ranks %d, a small one %d", a, b)
	}
}
