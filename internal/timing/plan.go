package timing

import "time"

// Regime is the conditions under which calls are timed.
type Regime struct {
	Cold bool
	Load Load
}

// Load is the state of the card before a measurement.
type Load string

// The loads.
const (
	Interleaved Load = ""          // implementations take turns every few milliseconds
	Burst       Load = "burst"     // each measurement follows a second of rest
	Sustained   Load = "sustained" // it follows seconds of the same call: clock and power have settled
)

// String returns the name that is stored: "cold", "warm burst".
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

// Plan is the protocol for timing what passed. Every case and regime gets rounds until the interval of every
// median is narrow, its Budget is spent on those near the fastest, or Rounds are done.
type Plan struct {
	Regimes []Regime
	Rounds  int // at most
	// Budget is for one case in one regime, and as much for its backwards with their forwards. It does not
	// include rests and settling.
	Budget time.Duration
	Wake   time.Duration // how long the card computes before anything is measured
}
