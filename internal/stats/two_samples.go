package stats

import (
	"math"
	"slices"

	"golang.org/x/perf/benchmath"
)

// MannWhitney returns the two-sided p-value of the hypothesis that two samples come from one distribution; 1
// if one of them is empty.
func MannWhitney(a, b []float64) float64 {
	if len(a) == 0 || len(b) == 0 {
		return 1
	}
	t := benchmath.DefaultThresholds
	c := benchmath.AssumeNothing.Compare(benchmath.NewSample(slices.Clone(a), &t),
		benchmath.NewSample(slices.Clone(b), &t))
	return c.P
}

// Holm adjusts p-values for their number (Holm-Bonferroni): each may then be compared with the level of all
// together. The order is kept; no value exceeds 1.
func Holm(p []float64) []float64 {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int {
		switch {
		case p[i] < p[j]:
			return -1
		case p[i] > p[j]:
			return 1
		}
		return 0
	})
	out := make([]float64, len(p))
	largest := 0.0
	for rank, i := range order {
		largest = math.Max(largest, math.Min(1, p[i]*float64(len(p)-rank)))
		out[i] = largest
	}
	return out
}

// MedianInterval returns the distribution-free interval of the median with at least the given confidence; for
// too few samples the smallest and the largest one, for none NaN.
func MedianInterval(samples []float64, confidence float64) (low, high float64) {
	if len(samples) == 0 {
		return math.NaN(), math.NaN()
	}
	sorted := slices.Sorted(slices.Values(samples))
	if 1-math.Pow(2, 1-float64(len(sorted))) < confidence {
		return sorted[0], sorted[len(sorted)-1]
	}
	return interval(sorted, confidence)
}

// RoundMedians returns the median of the samples of each round, in the order of the rounds; without rounds,
// the samples themselves. Samples of a round must be adjacent.
func RoundMedians(samples []float64, rounds []int) []float64 {
	if len(rounds) != len(samples) {
		return samples
	}
	var all []float64
	for i := 0; i < len(samples); {
		end := i
		for end < len(samples) && rounds[end] == rounds[i] {
			end++
		}
		all = append(all, Median(samples[i:end]))
		i = end
	}
	return all
}
