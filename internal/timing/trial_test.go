package timing_test

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/stats"
	"triad/internal/timing"
	"triad/internal/timing/timingtest"
)

// A trial finds what a bench would: SAME for a call timed twice, SLOWER for one that takes 3 % longer. It
// names the candidate that failed.
func TestTrial(t *testing.T) {
	card := timingtest.NewCard(t, 0.003)
	card.Random, card.Drift = rand.New(rand.NewPCG(5, 6)), 0.1
	candidate := func(name string, ns float64) *timingtest.Candidate {
		return &timingtest.Candidate{
			Card: card, Name: name, NS: ns,
			Prepared: backend.PrepareReply{EstimateNS: ns, Calls: 8},
		}
	}
	timer := &timing.Timer{Plan: coldPlan, Telemetry: card}
	same, different, err := timer.Trial(t.Context(), candidate("base", 1e5), candidate("twin", 1e5),
		candidate("other", 1.03e5))
	if err != nil || same.SpeedVerdict != stats.Same || different.SpeedVerdict != stats.Slower {
		t.Errorf("%+v, %+v, %v", same.SpeedVerdict, different.SpeedVerdict, err)
	}
	same, different, err = timer.Trial(t.Context(), candidate("base", 1e5), candidate("twin", 1e5), nil)
	if err != nil || same.SpeedVerdict != stats.Same || different.SpeedVerdict != "" {
		t.Errorf("without another: %+v, %+v, %v", same.SpeedVerdict, different.SpeedVerdict, err)
	}
	crashes := candidate("other", 1e5)
	crashes.End = &backend.Outcome{Status: op.StatusCrash, Sentence: "CUDA error 700"}
	_, _, err = timer.Trial(t.Context(), candidate("base", 1e5), candidate("twin", 1e5), crashes)
	if err == nil || !strings.Contains(err.Error(), "error 700") {
		t.Errorf("a candidate that crashes: %v", err)
	}
}

// A case that is left to a later run is not timed: no regime of it begins.
func TestLeftBeforeARegime(t *testing.T) {
	timer := &timing.Timer{Plan: coldPlan, Telemetry: timingtest.NewCard(t, 0)}
	found, err := timer.Time(t.Context(), timing.Case{Left: func() bool { return true }})
	if !errors.Is(err, timing.ErrLeft) || len(found) != 0 {
		t.Errorf("%v, %v: want %v and no comparison", found, err, timing.ErrLeft)
	}
}
