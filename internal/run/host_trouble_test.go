package run

import (
	"context"
	"slices"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
)

// troubled is a backend whose worker is killed in each job.
type troubled struct{ *fake }

func (b troubled) Run(_ context.Context, job backend.Job) (backend.Outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.runs[job.Implementation.Name]++
	return backend.Outcome{}, &backend.HostTrouble{Sentence: "the worker was killed"}
}

// TestTroubleOfTheMachineIsNoVerdict: what this machine keeps from being loaded or run has no record, and the
// run is unfinished; all others have theirs. After two cases the rest is not tried.
func TestTroubleOfTheMachineIsNoVerdict(t *testing.T) {
	request := Request{
		Operators: []*truth.Operator{faked(t)}, Seed: 1,
		Options: op.Options{Level: op.LevelQuick, Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"}},
	}
	sound := fakes(map[string]way{"fake/right": right})
	unloaded, file, unrun := fakes(nil), fakes(nil), fakes(map[string]way{"unrun/one": right})
	unloaded.family, unloaded.load = "unloaded", &backend.HostTrouble{Sentence: "the disk is full"}
	file.family, file.failed = "mine", []backend.LoadFailure{{
		Implementation: "mine/softmax", Status: op.StatusInterrupted, Message: "the compiler was killed",
	}}
	unrun.family = "unrun"
	kept := &memory{}
	result, err := (&Runner{
		Backends: []backend.Backend{sound, unloaded, file, troubled{unrun}}, Recorder: kept,
		Stop: t.Context(),
	}).Compare(t.Context(), request)
	if err != nil || !result.Interrupted {
		t.Errorf("%v, interrupted = %v", err, result.Interrupted)
	}
	slices.Sort(result.Open)
	if want := []string{
		"the compiler was killed", "the disk is full", "the worker was killed",
	}; !slices.Equal(result.Open, want) {
		t.Errorf("left open for %q, want %q", result.Open, want)
	}
	right := 0
	for _, r := range kept.records {
		if r.Impl != "fake/right" {
			t.Errorf("recorded: %s %v %s", r.Impl, r.Status, r.Message)
			continue
		}
		right++
	}
	planned := map[string]int{}
	for _, i := range kept.plan {
		planned[i.Impl]++
	}
	if right < 3 || planned["fake/right"] != right || planned["unloaded"] != 1 || planned["mine"] != 1 ||
		planned["unrun/one"] < 3 {
		t.Errorf("planned: %v, and %d recorded", planned, right)
	}
	if n := unrun.runs["unrun/one"]; n > mostTroubles+1 { // a case is prepared while another runs
		t.Errorf("%d tries, want %d", n, mostTroubles)
	}
}

// TestKilledInTheMiddleIsTriedAgain: a worker that is killed in the middle of a run is tried again, even if
// no other ran at the same time.
func TestKilledInTheMiddleIsTriedAgain(t *testing.T) {
	killed := func(ways int) way {
		return func(x tensor.Tensor, launch, run int) ([]float64, *backend.Outcome) {
			if run < ways {
				return nil, &backend.Outcome{Status: op.StatusOOM, Sentence: "killed", Ended: true}
			}
			return right(x, launch, run)
		}
	}
	kept := &memory{}
	_, err := (&Runner{
		Backends: []backend.Backend{fakes(map[string]way{"fake/once": killed(1)})}, Recorder: kept,
		Stop: t.Context(),
	}).Compare(t.Context(), Request{
		Operators: []*truth.Operator{faked(t)}, Seed: 1, InFlight: 1,
		Options: op.Options{Level: op.LevelQuick, Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"}},
	})
	if err != nil || len(kept.records) == 0 {
		t.Fatal(err, len(kept.records))
	}
	for _, r := range kept.records {
		if r.Status == op.StatusOOM {
			t.Errorf("%v %s", r.Status, r.Message)
		}
	}
}
