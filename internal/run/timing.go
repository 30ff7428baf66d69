package run

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/stats"
)

// Regime is under which conditions calls are timed.
type Regime struct {
	Cold bool
	Load Load
}

// Load is what the card did before a turn.
type Load string

// The loads.
const (
	Interleaved Load = ""          // implementations take turns every few milliseconds
	Burst       Load = "burst"     // each turn follows a second of rest
	Sustained   Load = "sustained" // each turn follows seconds of the same call, until clock and power have settled
)

// String is the name that is stored: "cold", "warm burst".
func (r Regime) String() string {
	name := "warm"
	if r.Cold {
		name = "cold"
	}
	if r.Load != Interleaved {
		name += " " + string(r.Load)
	}
	return name
}

// TimingPlan says how what passed is timed. Every case and regime gets rounds until the interval of every median is narrow, its Budget is
// spent on those near the fastest, or Rounds are done.
type TimingPlan struct {
	Regimes []Regime
	Rounds  int // at most
	// Budget is for one case in one regime, and as much for its backwards with their forwards. What turns wait for the
	// card to rest or to settle is beside it.
	Budget time.Duration
	Wake   time.Duration // how long the card computes before anything is measured
}

// timingKept refuses a plan of timing without anybody to keep what it finds.
func (r *Runner) timingKept(request Request) error {
	if request.Timing != nil && r.Timings == nil {
		return errors.New("the request has a plan of timing, and the runner has no recorder of timings: set Runner.Timings, or leave Request.Timing nil")
	}
	return nil
}

// Reading is one look at the card; a number that is not known is 0.
type Reading struct {
	ClockMHz, PowerW, TemperatureC float64
	Throttle                       uint64
}

// Telemetry looks at the card. It changes nothing.
type Telemetry interface{ Read() Reading }

// TimingRecorder keeps what timing finds; each call is one transaction.
type TimingRecorder interface {
	AppendTiming(run string, t record.Timing) error
	AppendRulers(r []record.Ruler) error
	AppendComparisons(c []record.Comparison) error
}

// The protocol.
const (
	graphNS       = 500_000         // calls captured together take at least this long: the graph's own cost is lost in it
	turnNS        = 2e6             // an interleaved turn takes about this long
	mostTurn      = 20              // samples in one interleaved turn
	shareOfTurn   = 10e6            // a replay longer than this is not preceded by a discarded one
	settledAt     = 0.005           // half width of the interval of the median at which an implementation is done
	unstableAt    = 0.05            // and beyond which nothing is said of it
	leastSamples  = 30              // before an implementation can be done
	settledRounds = 12              // before all can be: fewer say little of a difference
	farBehind     = stats.ApartBy   // times the fastest's time: whoever takes longer needs few rounds
	restBefore    = time.Second     // of a burst
	settleBefore  = 3 * time.Second // of the first sustained turn of an implementation
	settleAgain   = time.Second     // of its further ones: nothing rests between the turns, so that the card is as hot as it gets
	burstRounds   = 10              // at most
	steadyRounds  = 8               // of sustained turns
	steadyNS      = 0.5e9           // a sustained turn takes at least this long
	clockRounds   = 30              // of the comparison of two workers' clocks
	slowClock     = 0.9             // a sample below this share of the median clock is discarded
	mostDiscarded = 0.2             // more than this share makes a timing unstable
	rulerTurns    = 10              // of a ruler, with a rest between, as implementations have in their rounds
	rulerSamples  = 2               // in a turn
	rulerRest     = 10 * time.Millisecond

	// How many times the budget rounds may go on for a word that still needs some: for those near the front, and for those far behind.
	mostOverBudget = 3
	mostFarBehind  = 10
)

// turn is how an implementation whose replay takes so long is timed in one turn, its first or a further one.
func (r Regime) turn(replayNS float64, calls int, first bool) (settle time.Duration, discard, samples int) {
	discard = 1
	if replayNS > shareOfTurn {
		discard = 0
	}
	switch r.Load {
	case Burst:
		return 0, 0, min(5, max(1, int(turnNS/replayNS)))
	case Sustained:
		if settle = settleAgain; first {
			settle = settleBefore
		}
		return settle, 0, min(2000, max(3, int(steadyNS/replayNS), 500/max(calls, 1)))
	}
	return 0, discard, min(mostTurn, max(1, int(turnNS/replayNS)))
}

// mostRounds is how many rounds there are at most.
func (r Regime) mostRounds(asked int) int {
	switch r.Load {
	case Burst:
		return min(asked, burstRounds)
	case Sustained:
		return min(asked, steadyRounds)
	}
	return asked
}

// summarise turns the samples of a contender into its timing: slow clocks are left out, then median and interval; what is impossible or too
// noisy is said so.
func (k *contender) summarise(r Regime, rulers stats.Rulers, limits stats.Limits, w stats.Work) record.Timing {
	t := record.Timing{Regime: r.String(), Status: op.StatusPass, Bytes: w.Bytes, FLOPs: w.FLOPs, SamplesNS: k.samples, Rounds: k.rounds,
		Positions: k.positions, ClocksMHz: k.clocks, Mode: "graph", Backward: k.backward}
	if k.arm != nil {
		f := k.arm.Facts()
		t.Mode, t.Sets, t.Calls, t.RotatedBytes = f.Mode, f.Sets, f.Calls, f.RotatedBytes
		for _, l := range f.Kernels {
			t.Kernels = append(t.Kernels, record.Launch(l))
		}
		if t.Mode == "events" {
			t.Message = "the host's time is included: " + f.ModeReason
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
	if floor := rulers.Floor(w); !math.IsNaN(floor) && s.Median > 0 && !k.pair() {
		t.Roofline = new(record.Float(floor / s.Median))
	}
	k.classify(&t, r, s, limits, w)
	return t
}

// classify gives a timing its status.
func (k *contender) classify(t *record.Timing, r Regime, s stats.Summary, limits stats.Limits, w stats.Work) {
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
		t.Message = fmt.Sprintf("%d of %d samples were taken while the clock was far below its median", t.Discarded, t.N)
	case s.N < stats.LeastSamples:
		t.Status, t.Message = op.StatusUnstable, fmt.Sprintf("%d samples fit into the budget, at least %d are needed: --budget gives it more", s.N, stats.LeastSamples)
	case s.HalfWidth > unstableAt:
		t.Status, t.Message = op.StatusUnstable, fmt.Sprintf("the interval of the median reaches %.1f %% to each side", s.HalfWidth*100)
	case s.AboveFloor > 0.1 && t.Message == "":
		t.Message = fmt.Sprintf("the median lies %.0f %% above the fastest sample", s.AboveFloor*100)
	}
}

// known is the median of what could be read, nil where nothing could.
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

// watchEvery is how often the card is looked at during a turn.
const watchEvery = 2 * time.Millisecond

// watch looks at the card until the function it gives is called, which gives the means: after a turn the clock is back at its highest and
// says nothing of the turn.
func (x *execution) watch() (seen func() (Reading, error)) {
	if x.Telemetry == nil {
		return func() (Reading, error) { return Reading{}, nil }
	}
	stop, result := make(chan struct{}), make(chan Reading, 1)
	var watching panics.Group
	watching.Go(func() {
		var sum Reading
		n := 0.0
		for {
			r := x.Telemetry.Read()
			sum.ClockMHz, sum.PowerW, sum.TemperatureC = sum.ClockMHz+r.ClockMHz, sum.PowerW+r.PowerW, sum.TemperatureC+r.TemperatureC
			sum.Throttle |= r.Throttle
			n++
			select {
			case <-stop:
				result <- Reading{ClockMHz: sum.ClockMHz / n, PowerW: sum.PowerW / n, TemperatureC: sum.TemperatureC / n, Throttle: sum.Throttle}
				return
			case <-time.After(watchEvery):
			}
		}
	})
	return func() (Reading, error) {
		close(stop)
		if err := watching.Wait(); err != nil {
			return Reading{}, err
		}
		return <-result, nil
	}
}

// rest waits, with nothing queued on the card.
func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
