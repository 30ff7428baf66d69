package timing

import (
	"fmt"
	"math"

	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/stats"
)

// summarise turns the samples of an implementation into its timing: it leaves out samples at slow clocks,
// computes median and interval, and marks impossible or noisy times.
func (k *timedImpl) summarise(
	r Regime, ceilings stats.Ceilings, limits stats.Limits, w stats.Work,
) record.Timing {
	t := record.Timing{
		Regime: r.String(), Status: op.StatusPass, Bytes: w.Bytes, FLOPs: w.FLOPs,
		SamplesNS: k.samples, Rounds: k.rounds, Positions: k.positions, ClocksMHz: k.clocks, Mode: "graph",
		Backward: k.backward,
	}
	if k.candidate != nil {
		f := k.candidate.Facts()
		t.Mode, t.Sets, t.Calls, t.RotatedBytes = f.Mode, f.Sets, f.Calls, f.RotatedBytes
		for _, l := range f.Kernels {
			t.Kernels = append(t.Kernels, record.Launch(l))
		}
		switch t.Mode {
		case "events":
			t.Message = "the host's time is included: " + f.ModeReason
		case "kernels":
			t.Mode, t.Message = "events", "its kernels alone are timed, one by one: "+f.ModeReason
		}
	}
	kept := k.kept()
	t.Discarded = len(k.samples) - len(kept)
	if t.Discarded > 0 {
		t.Because = fmt.Sprintf("taken below %.0f %% of the median clock", slowClock*100)
	}
	s := stats.Summarise(kept)
	t.N = len(k.samples)
	t.MedianNS, t.LowNS, t.HighNS, t.MinNS, t.P10NS, t.P90NS = s.Median, s.Low, s.High, s.Min, s.P10, s.P90
	t.ClockMHz, t.PowerW, t.TemperatureC = known(k.clocks), known(k.powers), known(k.temperatures)
	t.Throttle = k.throttle
	if floor := ceilings.Floor(w); !math.IsNaN(floor) && s.Median > 0 && !k.pair() {
		t.Roofline = new(record.Float(floor / s.Median))
	}
	k.classify(&t, r, s, limits, w)
	return t
}

// classify sets the status of a timing.
func (k *timedImpl) classify(t *record.Timing, r Regime, s stats.Summary, limits stats.Limits, w stats.Work) {
	if k.backward == record.RetainedGraph {
		w.Bytes = w.Unavoidable
	}
	why, impossible := limits.Impossible(s.Median, w)
	switch {
	case k.failed != op.StatusUnknown:
		t.Status, t.Message = k.failed, k.sentence
	case s.N == 0:
		t.Status, t.Message = op.StatusUnstable, "no sample was taken"
	case s.Unsupported || r.Cold && impossible:
		t.Status, t.Message = op.StatusImpossible, fmt.Sprintf("%.1f ns a call: %s", s.Median, why)
	case float64(t.Discarded) > mostDiscarded*float64(t.N):
		t.Status = op.StatusUnstable
		t.Message = fmt.Sprintf("%d of %d samples were taken while the clock was far below its median",
			t.Discarded, t.N)
	case s.N < stats.LeastSamples:
		t.Status = op.StatusUnstable
		t.Message = fmt.Sprintf("%d samples fit into the budget, at least %d are needed: "+
			"--budget gives it more", s.N, stats.LeastSamples)
	case s.HalfWidth > unstableAt:
		t.Status = op.StatusUnstable
		t.Message = fmt.Sprintf("the interval of the median reaches %.1f %% to each side", s.HalfWidth*100)
	case s.AboveFloor > 0.1 && t.Message == "":
		t.Message = fmt.Sprintf("the median lies %.0f %% above the fastest sample", s.AboveFloor*100)
	}
}

// known returns the median of what could be read, nil if nothing could.
func known(values []float64) *record.Float {
	var all []float64
	for _, v := range values {
		if v > 0 {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return new(record.Float(stats.Median(all)))
}
