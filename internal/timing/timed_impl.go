package timing

import (
	"context"
	"math"
	"slices"
	"strings"

	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/stats"
)

// timedImpl is one implementation in the rounds of a case.
type timedImpl struct {
	Impl
	job       backend.Job
	candidate backend.Candidate // nil if it could not be prepared, and after it failed
	aaTwin    bool              // the second candidate of an A/A comparison: it is in no table

	samples, clocks      []float64 // one a sample
	rounds, positions    []int
	powers, temperatures []float64 // one a measurement
	throttle             uint64
	failed               op.Status // its status if it has no usable time
	sentence             string
	backward, note       string // what its backward starts from, and further remarks on how it was timed
}

// prepare makes the call of an implementation ready to be timed. If that fails, it has no candidate, and its
// sentence has the reason.
func (t *Timer) prepare(ctx context.Context, regime Regime, k *timedImpl) (err error) {
	name := k.Implementation.Name
	defer panics.Caught(&err, func() string { return "preparing the timed calls of " + name })
	job := backend.MeasureJob{Job: k.job, Cold: regime.Cold, GraphNS: graphNS}
	candidate, outcome, err := k.Backend.Measure(ctx, job)
	if err != nil {
		return err
	}
	if outcome.Status != op.StatusUnknown && ctx.Err() != nil {
		return ctx.Err()
	}
	if outcome.Status != op.StatusUnknown {
		k.fail(outcome)
		return nil
	}
	k.candidate = candidate
	k.remark(candidate.Facts().Note)
	if k.Implementation.Pass == op.Backward {
		k.backward = backwardOf(candidate.Facts())
	}
	t.notePhysics(candidate.Facts().Device)
	return nil
}

// remark adds a sentence to the note on how it was timed.
func (k *timedImpl) remark(sentence string) {
	k.note = strings.TrimPrefix(k.note+"; "+sentence, "; ")
}

// backwardOf returns the start of a timed backward from the worker's word for it; "" for an unknown word.
func backwardOf(f backend.PrepareReply) string {
	switch f.Backward {
	case "":
		return record.SavedTensors
	case record.SavedTensors, record.RetainedGraph, record.ForwardBackward:
		return f.Backward
	}
	return ""
}

// kept returns the samples that were not taken at a slow clock.
func (k *timedImpl) kept() []float64 {
	slow := stats.SlowClocks(k.clocks, slowClock)
	var kept []float64
	for i, s := range k.samples {
		if !slow[i] {
			kept = append(kept, s)
		}
	}
	return kept
}

// byRound returns the times of the implementation in each of n rounds.
func (k *timedImpl) byRound(n int) []stats.Round {
	slow := stats.SlowClocks(k.clocks, slowClock)
	times, clocks := make([][]float64, n), make([]float64, n)
	for i, r := range k.rounds {
		if !slow[i] {
			times[r] = append(times[r], k.samples[i])
			clocks[r] = k.clocks[i]
		}
	}
	all := make([]stats.Round, n)
	for r := range all {
		if len(times[r]) > 0 {
			all[r] = stats.Round{
				Time: stats.Median(times[r]), Least: slices.Min(times[r]),
				Most: slices.Max(times[r]), Clock: clocks[r],
			}
		}
	}
	return all
}

// fail removes an implementation from the rounds.
func (k *timedImpl) fail(o backend.Outcome) {
	k.failed, k.sentence, k.candidate = o.Status, o.Sentence, nil
	if k.failed == op.StatusUnknown {
		k.failed = op.StatusCrash
	}
}

// medianNS returns the median time of one call so far, or the estimate from before the rounds. The
// implementation must have a candidate.
func (k *timedImpl) medianNS() float64 {
	if kept := k.kept(); len(kept) > 0 {
		return stats.Median(kept)
	}
	return k.candidate.Facts().EstimateNS
}

// pair reports whether its calls run the forward as well, so that its time is not that of a backward alone.
func (k *timedImpl) pair() bool { return k.backward == record.ForwardBackward }

// replayNS returns the estimated time of one replay, in ns.
func (k *timedImpl) replayNS() float64 {
	f := k.candidate.Facts()
	return math.Max(f.EstimateNS*float64(f.Calls), 1)
}
