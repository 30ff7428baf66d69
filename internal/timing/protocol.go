package timing

import (
	"time"

	"triad/internal/stats"
)

// The protocol.
const (
	graphNS        = 500_000         // calls in a graph take at least this long: its own cost is lost in it
	measurementNS  = 2e6             // an interleaved measurement takes about this long
	mostSamples    = 20              // samples in one interleaved measurement
	longReplayNS   = 10e6            // a replay longer than this is not preceded by a discarded one
	settledAt      = 0.005           // half width of the median's interval at which an implementation is done
	unstableAt     = 0.05            // and beyond which nothing is said of it
	leastSamples   = 30              // before an implementation can be done
	settledRounds  = 12              // before all can be: fewer say little of a difference
	farBehind      = stats.ApartBy   // times the fastest's time: what takes longer needs few rounds
	restBefore     = time.Second     // of a burst
	settleBefore   = 3 * time.Second // of the first sustained measurement of an implementation
	settleAgain    = time.Second     // of its further ones: nothing rests, to heat the card
	burstRounds    = 10              // at most
	steadyRounds   = 8               // of sustained measurements
	steadyNS       = 0.5e9           // a sustained measurement takes at least this long
	clockRounds    = 30              // of the comparison of two workers' clocks
	slowClock      = 0.9             // a sample below this share of the median clock is discarded
	mostDiscarded  = 0.2             // more than this share makes a timing unstable
	ceilingRounds  = 10              // of a ceiling, with a rest between, as implementations have in rounds
	ceilingSamples = 2               // in a measurement
	ceilingRest    = 10 * time.Millisecond

	// How many times the budget rounds may go on for a verdict that still needs some: for those near the
	// front, and for those far behind.
	mostOverBudget = 3
	mostFarBehind  = 10
)

// measurement returns how to time one measurement of an implementation, its first or a further one, from the
// length of its replay.
func (r Regime) measurement(replayNS float64, calls int, first bool) (
	settle time.Duration, discard, samples int,
) {
	discard = 1
	if replayNS > longReplayNS {
		discard = 0
	}
	switch r.Load {
	case Burst:
		return 0, 0, min(5, max(1, int(measurementNS/replayNS)))
	case Sustained:
		if settle = settleAgain; first {
			settle = settleBefore
		}
		return settle, 0, min(2000, max(3, int(steadyNS/replayNS), 500/max(calls, 1)))
	}
	return 0, discard, min(mostSamples, max(1, int(measurementNS/replayNS)))
}

// mostRounds returns the maximum number of rounds.
func (r Regime) mostRounds(asked int) int {
	switch r.Load {
	case Burst:
		return min(asked, burstRounds)
	case Sustained:
		return min(asked, steadyRounds)
	}
	return asked
}
