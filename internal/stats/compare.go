package stats

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Word is what is said of two implementations that were timed in the same rounds.
type Word string

// The words. Faster and Slower speak of the first of the two.
const (
	Faster    Word = "FASTER"
	Slower    Word = "SLOWER"
	Same      Word = "SAME"
	Ambiguous Word = "AMBIGUOUS"
)

// LeastEffect is the smallest difference that is ever called one, as a share.
const LeastEffect = 0.01

// Comparison is the ratio of two series of rounds: above 1 the first takes longer.
type Comparison struct {
	Ratios    []float64 // one for each round that both took part in and whose clocks moved together
	Dropped   int       // rounds left out because the clock of one moved and that of the other did not
	Ratio     float64   // median of Ratios
	Low, High float64   // 95 % bootstrap interval of the median
	Word      Word
}

// Round is what one implementation did in one round. The zero value took no part.
type Round struct {
	Time  float64 // median of the round's samples
	Clock float64 // mean clock of the multiprocessors while it ran; 0: not known
}

// clockDrift is how far the ratio of two clocks may stray in a round from what it usually is.
const clockDrift = 0.01

// LeastRounds is how many rounds a word needs: below 8, an interval of 99 % does not exist.
const LeastRounds = 8

// Compare compares two implementations round by round. bar is the noise that an A/A comparison of the same session showed, as a share:
// no difference below it, nor below LeastEffect, is called one. A difference is FASTER or SLOWER where it is that large and the
// distribution-free 99 % interval of the ratio excludes 1, SAME where the 95 % interval lies within that band, else AMBIGUOUS.
func Compare(a, b []Round, bar float64) Comparison {
	var c Comparison
	c.Ratios, c.Dropped = ratios(a, b)
	c.Ratio, c.Word = Median(c.Ratios), Ambiguous
	if len(c.Ratios) == 0 {
		return c
	}
	c.Low, c.High = bootstrap(c.Ratios)
	if len(c.Ratios) < LeastRounds {
		return c
	}
	band := math.Max(LeastEffect, bar)
	low, high := interval(c.Ratios, 0.99)
	switch {
	case c.Ratio <= 1-band && high < 1:
		c.Word = Faster
	case c.Ratio >= 1+band && low > 1:
		c.Word = Slower
	case c.Low >= 1-band && c.High <= 1+band:
		c.Word = Same
	}
	return c
}

// Noise is the bar that an A/A comparison sets: how far from 1 its interval reaches.
func (c Comparison) Noise() float64 {
	if len(c.Ratios) == 0 {
		return 0
	}
	return math.Max(math.Abs(c.High-1), math.Abs(1-c.Low))
}

// ratios gives the ratio of every common round, less those in which one clock moved alone: a card that slowed down for one of the two
// says nothing about them. Where that would leave too few rounds to speak of, all stay.
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

// resamples is how often bootstrap draws.
const resamples = 2000

// bootstrap is the percentile interval of the median, 95 %. Its generator has a fixed seed: the same samples give the same interval.
func bootstrap(samples []float64) (low, high float64) {
	random := rand.New(rand.NewPCG(0x7472696164, uint64(len(samples))))
	medians, drawn := make([]float64, resamples), make([]float64, len(samples))
	for i := range medians {
		for k := range drawn {
			drawn[k] = samples[random.IntN(len(samples))]
		}
		medians[i] = Median(drawn)
	}
	slices.Sort(medians)
	return quantile(medians, 0.025), quantile(medians, 0.975)
}
