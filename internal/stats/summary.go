package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// LeastSamples is the smallest number of samples whose order statistics enclose the median with 95 %
// confidence: 1 - 2*0.5^6 = 97 %.
const LeastSamples = 6

// Summary summarises one series of samples, in the unit of the samples.
type Summary struct {
	N      int
	Median float64
	// distribution-free 95 % interval of the median, from order statistics; smallest and largest below
	// LeastSamples
	Low, High float64
	Min       float64
	P10, P90  float64
	HalfWidth float64 // of the interval, as a share of the median; +Inf below LeastSamples
	// how far the median lies above the smallest sample, as a share: host gaps and throttling show here
	AboveFloor  float64
	Unsupported bool // a sample is no positive finite number
}

// Summarise describes samples. No sample gives the zero Summary with an infinite HalfWidth.
func Summarise(samples []float64) Summary {
	s := Summary{N: len(samples), HalfWidth: math.Inf(1)}
	if s.N == 0 {
		return s
	}
	sorted := slices.Sorted(slices.Values(samples))
	s.Median, s.Min, s.P10, s.P90 = Median(sorted), sorted[0], quantile(sorted, 0.1), quantile(sorted, 0.9)
	s.Low, s.High = sorted[0], sorted[s.N-1]
	for _, v := range sorted {
		s.Unsupported = s.Unsupported || !(v > 0) || math.IsInf(v, 0)
	}
	if s.N < LeastSamples || s.Unsupported {
		return s
	}
	s.Low, s.High = interval(sorted, 0.95)
	s.HalfWidth = (s.High - s.Low) / 2 / s.Median
	s.AboveFloor = s.Median/s.Min - 1
	return s
}

// interval returns the distribution-free interval of the median with at least the given confidence.
func interval(samples []float64, confidence float64) (low, high float64) {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(slices.Clone(samples),
		&benchmath.DefaultThresholds), confidence)
	return s.Lo, s.Hi
}

// Median returns the middle sample, or the mean of the two middle ones; NaN if there are none.
func Median(samples []float64) float64 {
	if len(samples) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(samples))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// quantile interpolates between the two nearest of sorted samples.
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	below := int(at)
	if below+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	return sorted[below] + (at-float64(below))*(sorted[below+1]-sorted[below])
}

// Settled reports whether rounds can stop: there are at least least samples, and the half width of their
// median's interval is at most the given share of the median.
func Settled(samples []float64, least int, halfWidth float64) bool {
	return len(samples) >= max(least, LeastSamples) && Summarise(samples).HalfWidth <= halfWidth
}

// SlowClocks marks the samples that were taken at a clock below a share of the series' median clock. A clock
// of 0 is unknown and is not marked.
func SlowClocks(clocks []float64, share float64) []bool {
	marked := make([]bool, len(clocks))
	var known []float64
	for _, c := range clocks {
		if c > 0 {
			known = append(known, c)
		}
	}
	usual := Median(known)
	for i, c := range clocks {
		marked[i] = c > 0 && c < share*usual
	}
	return marked
}
