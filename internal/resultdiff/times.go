package resultdiff

import (
	"fmt"
	"math"
	"slices"

	"triad/internal/stats"
)

// SpeedVerdict is the verdict on two times.
type SpeedVerdict string

// The verdicts, of the second side: it is slower, or faster, than the first. Incomparable means that the
// conditions differ.
const (
	Faster       = SpeedVerdict(stats.Faster)
	Slower       = SpeedVerdict(stats.Slower)
	Same         = SpeedVerdict(stats.Same)
	Ambiguous    = SpeedVerdict(stats.Ambiguous)
	Incomparable = SpeedVerdict("INCOMPARABLE")
)

// The basis of the verdicts. Two sessions on one kind of GPU give one kernel times that lie further apart
// than two series of one session do: of 173 pairs recorded on an H200 in different sessions at one clock,
// every kernel that was compiled alike lay within 2 % (docs/decisions.md).
const (
	// BetweenSessions is the smallest difference between two sessions that is ever called one, as a share.
	BetweenSessions = 0.02
	// LargestP is the p-value, adjusted for the number of compared times, below which a difference is not by
	// chance.
	LargestP = 0.01
	// ClockDrift is the largest difference of two clocks, as a share, at which times are comparable.
	ClockDrift = 0.02
	// confidence is that of the interval of each median: that of their ratio is at least 98 %.
	confidence = 0.99
)

// Ratio compares the times of one implementation on one case in one regime: above 1 the second side takes
// longer.
type Ratio struct {
	Regime   string
	ANS, BNS float64 // medians
	Ratio    float64
	// Low and High enclose the ratio with at least 98 % confidence; with fewer than stats.LeastRounds rounds
	// on a side they are the smallest and largest quotient.
	Low, High float64
	// P is of a two-sided Mann-Whitney test over the rounds' medians, adjusted by Holm over the whole diff.
	P            float64
	SpeedVerdict SpeedVerdict
	Why          string // why the two are incomparable, "" if they are not

	band     float64
	distance float64 // of the medians, as the difference of their logarithms
	furthest float64 // that of the end of the interval further from 1
	enough   bool    // rounds for an interval
	clear    bool    // the interval excludes 1
	apart    bool    // every round of one above twice every round of the other
}

// Distance returns the absolute logarithm of the ratio.
func (r Ratio) Distance() float64 { return math.Abs(r.distance) }

// compareTimes fills the ratios of all changes, whose verdicts need all of them: the more are compared, the
// smaller the p-value that each needs.
func compareTimes(all []Change, o Options) {
	for i := range all {
		c := &all[i]
		if c.A == nil || c.B == nil {
			continue
		}
		for _, a := range c.A.Timings {
			at := slices.IndexFunc(c.B.Timings, func(b Time) bool { return b.Regime == a.Regime })
			if at >= 0 {
				c.Times = append(c.Times, ratio(c.A, c.B, a, c.B.Timings[at]))
			}
		}
	}
	var judged []*Ratio
	for i := range all {
		for j := range all[i].Times {
			if r := &all[i].Times[j]; r.Why == "" || o.Across {
				judged = append(judged, r)
			}
		}
	}
	adjust(judged)
}

// adjust adjusts the p-values of ratios for their number, and sets their verdicts.
func adjust(judged []*Ratio) {
	p := make([]float64, len(judged))
	for i, r := range judged {
		p[i] = r.P
	}
	for i, adjusted := range stats.Holm(p) {
		judged[i].P = adjusted
		judged[i].SpeedVerdict = judged[i].speedVerdict()
	}
}

// ratio compares two times without a verdict yet. The values that decide a verdict are compared without a
// quotient, so that the verdict does not depend on which side comes first.
func ratio(x, y *Entry, a, b Time) Ratio {
	medianA, medianB := stats.Median(a.RoundsNS), stats.Median(b.RoundsNS)
	lowA, highA := stats.MedianInterval(a.RoundsNS, confidence)
	lowB, highB := stats.MedianInterval(b.RoundsNS, confidence)
	rounds := min(len(a.RoundsNS), len(b.RoundsNS))
	r := Ratio{
		Regime: a.Regime, ANS: medianA, BNS: medianB, Ratio: medianB / medianA,
		Low: lowB / highA, High: highB / lowA, P: stats.MannWhitney(a.RoundsNS, b.RoundsNS),
		SpeedVerdict: Incomparable, Why: incomparable(x, y, a, b),
		band:     max(BetweenSessions, a.Noise, b.Noise, drift(x.Conditions, y.Conditions)),
		distance: math.Log(medianB) - math.Log(medianA),
		furthest: max(math.Log(highB)-math.Log(lowA), math.Log(highA)-math.Log(lowB)),
		enough:   rounds >= stats.LeastRounds,
		clear:    lowB > highA || lowA > highB,
	}
	r.apart = rounds >= stats.ApartRounds && (slices.Min(a.RoundsNS) > stats.ApartBy*slices.Max(b.RoundsNS) ||
		slices.Min(b.RoundsNS) > stats.ApartBy*slices.Max(a.RoundsNS))
	return r
}

// drift returns the difference of the copy rates of two sessions, as a share: a machine that copies memory
// slower than before times everything slower.
func drift(a, b *Conditions) float64 {
	if !(a.CopyRate > 0) || !(b.CopyRate > 0) {
		return 0
	}
	return max(a.CopyRate, b.CopyRate)/min(a.CopyRate, b.CopyRate) - 1
}

// incomparable returns the reason why two times cannot be compared, "" if they can.
func incomparable(x, y *Entry, a, b Time) string {
	differ := func(what, of, with string) string {
		if of == "" {
			of = "none"
		}
		if with == "" {
			with = "none"
		}
		return fmt.Sprintf("%s differs: %s, %s", what, of, with)
	}
	switch {
	case x.Conditions.Machine.GPU != y.Conditions.Machine.GPU:
		return differ("GPU", x.Conditions.Machine.GPU, y.Conditions.Machine.GPU)
	case a.Mode != b.Mode:
		return differ("how calls are launched", a.Mode, b.Mode)
	case a.Backward != b.Backward:
		return differ("what the backward starts from", a.Backward, b.Backward)
	case a.ClockMHz > 0 && b.ClockMHz > 0 &&
		max(a.ClockMHz, b.ClockMHz)/min(a.ClockMHz, b.ClockMHz)-1 > ClockDrift:
		return fmt.Sprintf("clock differs: %.0f, %.0f MHz", a.ClockMHz, b.ClockMHz)
	}
	return ""
}

// verdict returns the verdict that follows from the numbers.
func (r *Ratio) speedVerdict() SpeedVerdict {
	if !r.apart && !r.enough {
		return Ambiguous
	}
	bar := math.Log1p(r.band)
	different := math.Abs(r.distance) >= bar && (r.apart || r.clear && r.P < LargestP)
	switch {
	case different && r.distance > 0:
		return Slower
	case different:
		return Faster
	case r.furthest <= bar:
		return Same
	}
	return Ambiguous
}
