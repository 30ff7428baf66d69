package timing_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/timing"
)

// The clocks of two workers agree on the same copy.
func TestClocks(t *testing.T) {
	none := newGPU(t, 0.003, nil)
	none.without = []string{backend.CeilingMemcpy}
	clocks, err := timing.Clocks(t.Context(), []backend.Backend{newGPU(t, 0.003, nil), none})
	if err != nil || len(clocks) != 2 || math.Abs(clocks[0].MedianNS/1e5-1) > 0.01 || clocks[1].Why == "" {
		t.Errorf("%v %+v", err, clocks)
	}
}

// unmeasurable is a backend that cannot time.
type unmeasurable struct{ *gpu }

func (unmeasurable) Measure(context.Context, backend.MeasureJob) (backend.Candidate, backend.Outcome, error) {
	return nil, backend.Outcome{}, errors.New("its worker does not start")
}

// A clock that cannot be read, or fails while it is read, is reported along with the others.
func TestClocksThatFail(t *testing.T) {
	broken := newGPU(t, 0.003, nil)
	broken.ends = map[string]backend.Outcome{
		backend.CeilingMemcpy: {Status: op.StatusCrash, Sentence: "illegal address"},
	}
	clocks, err := timing.Clocks(t.Context(),
		[]backend.Backend{unmeasurable{newGPU(t, 0.003, nil)}, broken, newGPU(t, 0.003, nil)})
	if err != nil {
		t.Fatal(err)
	}
	if clocks[0].Why != "its worker does not start" || clocks[1].Why != "illegal address" {
		t.Errorf("%+v", clocks)
	}
	if clocks[2].Why != "" || clocks[2].MedianNS == 0 {
		t.Errorf("%+v", clocks[2])
	}
}
