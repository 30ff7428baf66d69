package run

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/stats"
)

// A trial says what a bench would: SAME of a call timed twice, SLOWER of one that takes 3 % longer, and which arm failed.
func TestTrial(t *testing.T) {
	f := &timedFake{fake: &fake{}, card: &card{t: t, random: rand.New(rand.NewPCG(5, 6)), drift: 0.1}, noise: 0.003}
	arm := func(name string, ns float64) backend.Arm {
		return &fakeArm{fake: f, name: name, ns: ns, facts: backend.PrepareReply{EstimateNS: ns, Calls: 8}}
	}
	r := &Runner{Telemetry: f.card}
	plan := TimingPlan{Regimes: []Regime{{Cold: true}}, Rounds: 60, Budget: time.Minute}
	same, different, err := r.Trial(t.Context(), arm("base", 1e5), arm("twin", 1e5), arm("other", 1.03e5), plan)
	if err != nil || same.Word != stats.Same || different.Word != stats.Slower {
		t.Errorf("%+v, %+v, %v", same.Word, different, err)
	}
	if same, different, err = r.Trial(t.Context(), arm("base", 1e5), arm("twin", 1e5), nil, plan); err != nil || same.Word != stats.Same || different.Word != "" {
		t.Errorf("without another: %+v, %+v, %v", same, different, err)
	}
	f.ends = map[string]backend.Outcome{"other": {Status: op.StatusCrash, Sentence: "CUDA error 700"}}
	if _, _, err = r.Trial(t.Context(), arm("base", 1e5), arm("twin", 1e5), arm("other", 1e5), plan); err == nil || !strings.Contains(err.Error(), "error 700") {
		t.Errorf("an arm that crashes: %v", err)
	}
}
