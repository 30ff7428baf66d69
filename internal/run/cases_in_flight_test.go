package run

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// wide is a fake that judges in several lanes. It notes how many jobs were under way at once.
type wide struct {
	*fake
	mu        sync.Mutex
	lanes     int
	now, most int
	expected  []int
}

func (w *wide) Lanes() int { return w.lanes }
func (w *wide) Together()  { w.lanes = 0 }
func (w *wide) Spreads(implementation string) bool {
	return !strings.HasPrefix(implementation, "fake/alone")
}

func (w *wide) Expect(jobs int) {
	w.expected = append(w.expected, jobs)
}

func (w *wide) Load(ctx context.Context, operator string) (backend.LoadReply, backend.HelloReply, error) {
	reply, hello, err := w.fake.Load(ctx, operator)
	for i := range reply.Implementations {
		reply.Implementations[i].Device = "gpu"
	}
	return reply, hello, err
}

func (w *wide) Run(ctx context.Context, job backend.Job) (backend.Outcome, error) {
	w.mu.Lock()
	w.now++
	w.most = max(w.most, w.now)
	w.mu.Unlock()
	time.Sleep(5 * time.Millisecond)
	defer func() {
		w.mu.Lock()
		w.now--
		w.mu.Unlock()
	}()
	return w.fake.Run(ctx, job)
}

// judgedOperator returns an operator with a few quick cases.
func judgedOperator(t *testing.T) *truth.Operator {
	t.Helper()
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// TestLanesJudgeSideBySide: a backend with lanes has many cases under way at once, at most one of each
// implementation and dtype; without lanes two jobs of a family.
func TestLanesJudgeSideBySide(t *testing.T) {
	o := judgedOperator(t)
	most := map[int]int{}
	for _, lanes := range []int{0, 6} {
		w := &wide{fake: fakes(map[string]way{"fake/a": right, "fake/b": right}), lanes: lanes}
		r := &Runner{Backends: []backend.Backend{w}, Recorder: &memory{}, Stop: t.Context()}
		result, err := r.Compare(t.Context(), Request{
			Operators: []*truth.Operator{o}, Seed: 1, Single: true,
			Options: op.Options{Passes: []op.Pass{op.Forward}, Level: op.LevelQuick},
		})
		if err != nil || len(result.Records) == 0 {
			t.Fatalf("%d records, %v", len(result.Records), err)
		}
		most[lanes] = w.most
		dtypes := []string{}
		for _, record := range result.Records {
			if !slices.Contains(dtypes, record.Case.DType) {
				dtypes = append(dtypes, record.Case.DType)
			}
		}
		if !slices.Equal(dtypes, o.Spec.DTypes) {
			t.Errorf("the records begin with %v, want the order of the plan, %v", dtypes, o.Spec.DTypes)
		}
	}
	if most[0] > abreastAlone || most[6] < 4 || most[6] > 6 { // two implementations in three dtypes
		t.Errorf("jobs at once, by lanes: %v", most)
	}
}

// TestSlowFamilyHoldsNobodyUp: a slow family does not hold up the others: they go on with the next cases, and
// the records are still in the order of the plan.
func TestSlowFamilyHoldsNobodyUp(t *testing.T) {
	o := judgedOperator(t)
	const ahead = 4
	var mu sync.Mutex
	done, far, waited := 0, make(chan struct{}), true
	fast := &fake{family: "fast", runs: map[string]int{}, ways: map[string]way{
		"fast/a": func(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
			mu.Lock()
			defer mu.Unlock()
			if launch == 0 {
				if done++; done == ahead {
					close(far)
				}
			}
			return right(x, launch, run)
		},
	}}
	slow := &fake{family: "slow", runs: map[string]int{}, ways: map[string]way{
		"slow/a": func(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
			select {
			case <-far:
			case <-time.After(20 * time.Second):
				waited = false
			}
			return right(x, launch, run)
		},
	}}
	r := &Runner{Backends: []backend.Backend{slow, fast}, Recorder: &memory{}, Stop: t.Context()}
	result, err := r.Compare(t.Context(), Request{
		Operators: []*truth.Operator{o}, Seed: 1, Single: true,
		Options: op.Options{
			Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"}, Level: op.LevelQuick,
		},
	})
	if err != nil || !waited || len(result.Records) < 2*ahead {
		t.Errorf("%d records, %v; the fast family was %d cases ahead: %t", len(result.Records), err, ahead,
			waited)
	}
	for i, record := range result.Records {
		if want := []string{"slow/a", "fast/a"}[i%2]; record.Impl != want ||
			record.Case.Key() != result.Records[i/2*2].Case.Key() {
			t.Fatalf("record %d is of %s, want %s on the case of the one before", i, record.Impl, want)
		}
	}
}

func TestInterleaved(t *testing.T) {
	var planned []work
	for _, key := range []string{"a", "a", "a", "b", "c", "c"} {
		planned = append(planned,
			work{Case: op.Case{Op: key, Pass: op.Forward, DType: string(rune('0' + len(planned)))}})
	}
	var order []string
	for _, w := range interleaved(planned) {
		order = append(order, w.Op+w.DType)
	}
	if want := []string{"a0", "b3", "c4", "a1", "c5", "a2"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

// TestPlacesOfLargeCases: large cases take several places, so that few are in memory at once; two always fit
// at the same time.
func TestPlacesOfLargeCases(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lanes            int
		rows, most, want int64
	}{
		{6, 4, 2, 1},
		{6, 1 << 20, 2, 1},
		{6, 4, 32, 1},
		{6, 1 << 14, 32, 9},
		{6, 1 << 20, 32, 16},
		{0, 4, 8, 1},
		{0, 1 << 10, 8, 3},
		{0, 1 << 14, 8, 4},
	} {
		plan, err := o.Spec.Expand(op.Options{Device: "gpu", Dims: map[string]int64{
			"rows": c.rows,
			"cols": 1024,
		}, Passes: []op.Pass{op.Forward}, Level: op.LevelQuick})
		if err != nil || len(plan.Cases) == 0 {
			t.Fatal(err)
		}
		x := &execution{lanes: c.lanes}
		if got := x.placesOf(work{operator: o, Case: plan.Cases[0]}, int(c.most)); int64(got) != c.want {
			t.Errorf("%d rows of %d places: %d, want %d", c.rows, c.most, got, c.want)
		}
	}
}

// TestStopEndsCasesUnderWay: a run that is stopped while dozens of cases are under way finishes the calls
// that have begun, and leaves the rest to a resumed one.
func TestStopEndsCasesUnderWay(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	stop, cancel := context.WithCancel(t.Context())
	stopping := func(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
		cancel()
		return right(x, launch, run)
	}
	records := map[bool]int{}
	for _, stops := range []bool{false, true} {
		ways := map[string]way{"fake/a": right, "fake/b": right}
		if stops {
			ways["fake/a"] = stopping
		}
		kept := &memory{}
		r := &Runner{
			Backends: []backend.Backend{&wide{fake: fakes(ways), lanes: 6}}, Recorder: kept,
			Stop: stop,
		}
		result, err := r.Compare(t.Context(), Request{
			Operators: []*truth.Operator{o}, Seed: 1, Single: true,
			Options: op.Options{Passes: []op.Pass{op.Forward}, Level: op.LevelQuick},
		})
		if err != nil || result.Interrupted != stops {
			t.Fatalf("stops %v: interrupted %v, %v", stops, result.Interrupted, err)
		}
		records[stops] = len(kept.records)
	}
	if records[true] == 0 || records[true] > records[false]/2 {
		// three dtypes of two implementations at once, and what came before
		t.Errorf("%d records of %d: want those of the calls that had begun", records[true], records[false])
	}
}

// TestJobsToComeAreReported: where the request names implementations, a backend that judges side by side
// learns the number of jobs to come: one for each implementation, pass and dtype. The size of a whole family
// is not known. What runs in a worker of its own does not count: if nothing else was named, no job is to
// come.
func TestJobsToComeAreReported(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []struct {
		impls  []string
		dtypes []string
		want   int
	}{
		{[]string{"fake/a"}, []string{"fp32"}, 1},
		{[]string{"fake/a", "fake/b"}, []string{"fp32", "fp16"}, 4},
		{[]string{"fake/a", "fake"}, []string{"fp32"}, 0},
		{nil, []string{"fp32"}, 0},
		{[]string{"fake/alone", "fake/b"}, []string{"fp32"}, 1},
		{[]string{"fake/alone", "fake"}, []string{"fp32"}, 0},
		{[]string{"fake/alone"}, []string{"fp32", "fp16"}, -2},
	} {
		w := &wide{
			fake:  fakes(map[string]way{"fake/a": right, "fake/b": right, "fake/alone": right}),
			lanes: 6,
		}
		r := &Runner{Backends: []backend.Backend{w}, Recorder: &memory{}, Stop: t.Context()}
		_, err := r.Compare(t.Context(), Request{
			Operators: []*truth.Operator{o}, Impls: of.impls, Seed: 1,
			Single: true, Options: op.Options{
				Passes: []op.Pass{op.Forward}, DTypes: of.dtypes,
				Level: op.LevelQuick,
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.expected, []int{of.want}) {
			t.Errorf("%v in %v: %v, want %d", of.impls, of.dtypes, w.expected, of.want)
		}
	}
}
