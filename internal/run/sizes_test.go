package run

import (
	"context"
	"sync"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/truth"
)

// sized counts the jobs that are compiled for their sizes alone.
type sized struct {
	*timedFake
	mu    sync.Mutex
	alone map[bool]int
}

func (s *sized) Run(ctx context.Context, job backend.Job) (backend.Outcome, error) {
	s.mu.Lock()
	s.alone[job.SizesAlone]++
	s.mu.Unlock()
	return s.timedFake.Run(ctx, job)
}

// TestWhatIsTimedIsJudgedForItsSizes: a case that is judged in order to be timed is compiled for its sizes
// alone, as it is timed; a comparison without times compiles for any sizes.
func TestWhatIsTimedIsJudgedForItsSizes(t *testing.T) {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	request := Request{Operators: []*truth.Operator{o}, Seed: 1, Options: op.Options{
		Passes: []op.Pass{op.Forward}, DTypes: []string{"fp32"},
		Dims: map[string]int64{"rows": 5, "cols": 33}, Level: op.LevelQuick,
	}}
	for _, bench := range []bool{true, false} {
		s := &sized{
			timedFake: timedFakes(t, 0.003, map[string]float64{"fake/right": 1e5}),
			alone:     map[bool]int{},
		}
		r := &Runner{
			Backends: []backend.Backend{s}, Recorder: &memory{}, Timings: &memory{}, Stop: t.Context(),
			Telemetry: s.card,
			Rest:      s.card.Rest,
		}
		if request.Timing = nil; bench {
			request.Timing = &coldPlan
			_, err = r.Bench(t.Context(), request)
		} else {
			_, err = r.Compare(t.Context(), request)
		}
		if err != nil || s.alone[bench] == 0 || s.alone[!bench] > 0 {
			t.Errorf("bench %v: jobs for their sizes alone %v, error %v", bench, s.alone, err)
		}
	}
}
