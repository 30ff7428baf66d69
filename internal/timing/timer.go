package timing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/stats"
)

// Recorder stores the results of timing; each call is one transaction.
type Recorder interface {
	AppendTiming(run string, t record.Timing) error
	AppendCeilings(r []record.Ceiling) error
	AppendComparisons(c []record.Comparison) error
}

// Timer times the cases of one session. The measurements of the ceilings and the device data of the workers
// hold for all of them.
type Timer struct {
	Plan      Plan
	Recorder  Recorder
	Telemetry Telemetry                                  // may be nil
	Rest      func(ctx context.Context, d time.Duration) // nil: really waits
	Spent     func(on string, began time.Time)           // may be nil; gets the time of each activity

	ceilings stats.Ceilings
	physics  backend.DevicePhysics
}

// Case is a case with the implementations that are timed on it.
type Case struct {
	op.Case
	Work  stats.Work // what one call must move and compute
	Impls []Impl
	// Left reports, before a regime and after its timed calls were judged, whether the case is left to a
	// later run: such a judgement may be incomplete. Nil: never.
	Left func() bool
}

// ErrLeft is the error of a case whose timing was left to a later run.
var ErrLeft = errors.New("left to a later run")

// Impl is an implementation of a case that passed.
type Impl struct {
	Implementation backend.Implementation
	Backend        backend.Backend
	Record         *record.Record // of its verdict; its timings are stored with it and added to it
	// Job makes its call. A status says why there is none: for example its own forward fails.
	Job func(ctx context.Context) (backend.Job, backend.Outcome, error)
	// Judge judges what its timed calls wrote. StatusUnknown: it is right.
	Judge func(written backend.Outcome) (status op.Status, sentence string)
}

// Time times a case in every regime of the plan, and records times and comparisons. It returns the
// comparisons, also those made before an error.
func (t *Timer) Time(ctx context.Context, of Case) ([]record.Comparison, error) {
	var all []record.Comparison
	for _, regime := range t.Plan.Regimes {
		if of.Left != nil && of.Left() {
			return all, ErrLeft
		}
		found, err := t.inRegime(ctx, regime, of)
		all = append(all, found...)
		if err != nil {
			return all, err
		}
	}
	return all, nil
}

// inRegime times a case in one regime. If the fastest turns out to be wrong or impossible, the others are
// timed again without it: the number of rounds that each got was based on an invalid time.
func (t *Timer) inRegime(ctx context.Context, regime Regime, of Case) ([]record.Comparison, error) {
	out := map[*record.Record]bool{}
	for {
		c := &timedCase{Timer: t, regime: regime, out: out}
		if err := c.time(ctx, of); err != nil || len(c.impls) == 0 {
			return nil, err
		}
		timings := c.timings(of)
		wrong := c.badLeader(timings)
		if wrong == nil {
			return c.record(timings)
		}
		if err := t.record(wrong, timings[wrong]); err != nil {
			return nil, err
		}
		out[wrong.Record] = true
	}
}

// time runs the rounds of a case in one regime and judges what the timed calls wrote.
func (c *timedCase) time(ctx context.Context, of Case) error {
	began := time.Now()
	if err := c.enter(ctx, of); err != nil || len(c.impls) == 0 {
		return err
	}
	c.spent("preparing timed calls", began)
	began = time.Now()
	if err := c.run(ctx); err != nil {
		return err
	}
	c.spent("timing", began)
	began = time.Now()
	err := c.finish(ctx)
	c.spent("judging what they wrote", began)
	if err == nil && of.Left != nil && of.Left() {
		return ErrLeft
	}
	return err
}

func (t *Timer) spent(on string, began time.Time) {
	if t.Spent != nil {
		t.Spent(on, began)
	}
}

// enter prepares a candidate for each implementation, and a second one for the one that seems fastest.
func (c *timedCase) enter(ctx context.Context, of Case) error {
	var fastest *timedImpl
	for _, i := range of.Impls {
		if c.out[i.Record] {
			continue
		}
		k := &timedImpl{Impl: i}
		var outcome backend.Outcome
		var err error
		if k.job, outcome, err = i.Job(ctx); err != nil {
			return err
		}
		if outcome.Status != op.StatusUnknown { // its own forward, which it had run before
			k.fail(outcome)
			c.impls = append(c.impls, k)
			continue
		}
		if err := c.prepare(ctx, c.regime, k); err != nil {
			return err
		}
		c.impls = append(c.impls, k)
		if k.candidate != nil && (fastest == nil ||
			k.candidate.Facts().EstimateNS < fastest.candidate.Facts().EstimateNS) {
			fastest = k
		}
	}
	if fastest == nil {
		return nil
	}
	twin := &timedImpl{Impl: fastest.Impl, job: fastest.job, aaTwin: true}
	if err := c.prepare(ctx, c.regime, twin); err != nil {
		return err
	}
	if twin.candidate == nil {
		fastest.remark("it was not timed beside itself: " + twin.sentence)
		return nil
	}
	c.impls = append(c.impls, twin)
	return nil
}

// timings returns the timing of every implementation of a case in one regime.
func (c *timedCase) timings(of Case) map[*timedImpl]*record.Timing {
	timings := map[*timedImpl]*record.Timing{}
	w := of.Work
	for _, k := range c.impls {
		t := k.summarise(c.regime, c.ceilings, c.limitsOf(k, w.Product), w)
		cached := t.Sets > 0 && t.RotatedBytes < c.physics.L2Bytes
		if c.regime.Cold && cached && backend.CacheMatters(t.MedianNS, w.BytesRead+w.BytesWritten) {
			text := fmt.Sprintf("; %d sets fit into the L2 cache: not cold", t.Sets)
			t.Message = strings.TrimPrefix(t.Message+text, "; ")
		}
		timings[k] = &t
	}
	return timings
}

// badLeader returns the fastest if its time is invalid: its timed calls were wrong, or impossibly fast. It
// returns nil if no other implementation is left.
func (c *timedCase) badLeader(timings map[*timedImpl]*record.Timing) *timedImpl {
	var leader *timedImpl
	left := 0
	for _, k := range c.impls {
		if t := timings[k]; !k.aaTwin && t.MedianNS > 0 {
			if left++; leader == nil || t.MedianNS < timings[leader].MedianNS {
				leader = k
			}
		}
	}
	if left < 2 || timings[leader].Status.Weight() != op.Bad {
		return nil
	}
	return leader
}

// record stores the timings and ratios of one case in one regime, and returns the ratios.
func (c *timedCase) record(timings map[*timedImpl]*record.Timing) ([]record.Comparison, error) {
	comparisons := c.compare(timings)
	for _, k := range c.impls {
		if k.aaTwin {
			continue
		}
		if err := c.Timer.record(k, timings[k]); err != nil {
			return nil, err
		}
	}
	return comparisons, c.Recorder.AppendComparisons(comparisons)
}

// record stores one timing, replacing an older one of its regime.
func (t *Timer) record(k *timedImpl, timing *record.Timing) error {
	timing.Message = strings.Trim(timing.Message+"; "+k.note, "; ")
	older := func(o record.Timing) bool { return o.Regime == timing.Regime }
	k.Record.Timings = append(slices.DeleteFunc(k.Record.Timings, older), *timing)
	return t.Recorder.AppendTiming(k.Record.ID, *timing)
}
