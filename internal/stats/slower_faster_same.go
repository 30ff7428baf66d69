package stats

import (
	"math"
	"slices"
)

// SpeedVerdict is the verdict on two implementations timed in the same rounds.
type SpeedVerdict string

// The verdicts. Faster and Slower refer to the first of the two.
const (
	Faster    SpeedVerdict = "FASTER"
	Slower    SpeedVerdict = "SLOWER"
	Same      SpeedVerdict = "SAME"
	Ambiguous SpeedVerdict = "AMBIGUOUS"
)

// LeastEffect is the smallest difference, as a share, that is ever reported. MostNoise is the largest one
// that noise ever hides: whatever the noise of a session, a ratio whose interval lies beyond it is called
// different.
const (
	LeastEffect = 0.01
	MostNoise   = 0.1
)

// Comparison is the ratio of two series of rounds: above 1 the first takes longer.
type Comparison struct {
	Ratios  []float64 // one for each round that both took part in and whose clocks moved together
	Dropped int       // rounds left out because the clock of one moved and that of the other did not
	Ratio   float64   // median of Ratios
	// Low and High enclose the median with 99 % confidence, whatever the noise. With fewer than LeastRounds
	// rounds no such interval exists: then they are the smallest and the largest ratio.
	Low, High float64
	// every sample of one lies beyond twice every sample of the other in its round: see ApartRounds
	Apart        bool
	SpeedVerdict SpeedVerdict
}

// Round holds the times of one implementation in one round, in ns. The zero value took no part.
type Round struct {
	Time        float64 // median of the round's samples
	Least, Most float64 // smallest and largest sample
	Clock       float64 // mean clock of the multiprocessors while it ran; 0: not known
}

// clockDrift is the largest deviation, as a share, of the ratio of two clocks in a round from its median.
const clockDrift = 0.01

// LeastRounds is the number of rounds that a verdict needs: below 8, an interval of 99 % does not exist.
// ApartRounds are enough if one takes more than ApartBy times as long as the other.
const (
	LeastRounds = 8
	ApartRounds = 3
	ApartBy     = 2
)

// Compare compares two implementations round by round. bar is the noise that an A/A comparison of the same
// case showed, as a share: no difference below it, nor below LeastEffect, is called one, but noise above
// MostNoise counts as MostNoise. The verdict follows from the interval: FASTER or SLOWER if the ratio differs
// by that much and the interval excludes 1, SAME if the interval lies within the bar, else AMBIGUOUS. With
// fewer rounds than LeastRounds it is AMBIGUOUS unless the two lie apart.
func Compare(a, b []Round, bar float64) Comparison {
	c := Comparison{SpeedVerdict: Ambiguous}
	c.Ratios, c.Dropped = ratios(a, b)
	c.Ratio = Median(c.Ratios)
	if len(c.Ratios) == 0 {
		return c
	}
	slower, faster := Apart(a, b), Apart(b, a)
	c.Apart = slower || faster
	c.Low, c.High = slices.Min(c.Ratios), slices.Max(c.Ratios)
	enough := len(c.Ratios) >= LeastRounds
	if enough {
		c.Low, c.High = interval(c.Ratios, 0.99)
	}
	band := min(max(LeastEffect, bar), MostNoise)
	switch {
	case faster || enough && c.Ratio <= 1-band && c.High < 1:
		c.SpeedVerdict = Faster
	case slower || enough && c.Ratio >= 1+band && c.Low > 1:
		c.SpeedVerdict = Slower
	case enough && c.Low >= 1-band && c.High <= 1+band:
		c.SpeedVerdict = Same
	}
	return c
}

// Apart reports whether a is slower beyond doubt: in every round that both took part in, at least ApartRounds
// of them, every sample of a is above twice every sample of b. An effect that doubles all samples of one and
// none of the other, round after round, is no noise.
func Apart(a, b []Round) bool {
	shared := 0
	for i := range min(len(a), len(b)) {
		if !(a[i].Time > 0 && b[i].Time > 0) {
			continue
		}
		if !(a[i].Least > ApartBy*b[i].Most) {
			return false
		}
		shared++
	}
	return shared >= ApartRounds
}

// Noise returns the bar that an A/A comparison sets: the largest distance of its interval from 1.
func (c Comparison) Noise() float64 {
	if len(c.Ratios) == 0 {
		return 0
	}
	return math.Max(math.Abs(c.High-1), math.Abs(1-c.Low))
}

// ratios returns the ratio of every common round, except those in which one clock moved alone: a card that
// slowed down for one of the two says nothing about them. If fewer than LeastRounds would remain, all are
// kept.
func ratios(a, b []Round) (kept []float64, dropped int) {
	var all, clocks []float64
	for i := range min(len(a), len(b)) {
		if !(a[i].Time > 0 && b[i].Time > 0) {
			continue
		}
		all = append(all, a[i].Time/b[i].Time)
		clock := math.NaN()
		if a[i].Clock > 0 && b[i].Clock > 0 {
			clock = a[i].Clock / b[i].Clock
		}
		clocks = append(clocks, clock)
	}
	usual := Median(slices.DeleteFunc(slices.Clone(clocks), math.IsNaN))
	for i, r := range all {
		if math.Abs(clocks[i]/usual-1) > clockDrift {
			dropped++
			continue
		}
		kept = append(kept, r)
	}
	if len(kept) < LeastRounds {
		return all, 0
	}
	return kept, dropped
}
