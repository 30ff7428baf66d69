package native

import (
	"math"
	"runtime/debug"
	"slices"
	"unsafe"
)

// summary describes samples without assuming a distribution.
type summary struct {
	N        int     `json:"n"`
	Least    float64 `json:"least"`
	Quartile float64 `json:"lower_quartile"`
	Median   float64 `json:"median"`
	Upper    float64 `json:"upper_quartile"`
	Greatest float64 `json:"greatest"`
	// Low and High are order statistics around the median: an interval that holds the true median with probability Confidence, the
	// smallest that reaches 0.95; fewer than six samples have none that does, and give their extremes.
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
	Confidence float64 `json:"confidence"`
}

// Summarize gives median, quartiles and an interval of the median of n finite fp64 samples at an address, as JSON.
func Summarize(samples uintptr, n int) (text string, err error) {
	defer guard("Summarize", &err)()
	enter("Summarize")
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if n < 1 || n > maxElements || samples == 0 {
		return "", usagef("summarize %d samples at address %#x: want at least one", n, samples)
	}
	sorted := slices.Clone(unsafe.Slice((*float64)(address(samples)), n))
	for i, x := range sorted {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return "", usagef("summarize %d samples: sample %d is %v: want finite numbers", n, i, x)
		}
	}
	slices.Sort(sorted)
	s := summary{N: n, Least: sorted[0], Quartile: quantile(sorted, 0.25), Median: quantile(sorted, 0.5), Upper: quantile(sorted, 0.75), Greatest: sorted[n-1]}
	rank, confidence := medianRank(n)
	s.Low, s.High, s.Confidence = sorted[rank], sorted[n-1-rank], confidence
	return asJSON(s)
}

// quantile interpolates linearly between order statistics (Hyndman and Fan 1996, type 7).
func quantile(sorted []float64, q float64) float64 {
	at := q * float64(len(sorted)-1)
	low := int(at)
	if low+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	part := at - float64(low)
	return sorted[low]*(1-part) + sorted[low+1]*part
}

// medianRank gives the largest rank r, from 0, such that the r-th smallest and the r-th largest of n samples hold the median between
// them with probability at least 0.95, and that probability: 1 - 2 P(Binomial(n, 1/2) <= r).
func medianRank(n int) (rank int, confidence float64) {
	all, _ := math.Lgamma(float64(n + 1))
	tail := 0.0
	confidence = 1 - math.Ldexp(1, 1-n)
	for k := 0; k < (n+1)/2; k++ {
		below, _ := math.Lgamma(float64(k + 1))
		above, _ := math.Lgamma(float64(n - k + 1))
		tail += math.Exp(all - below - above - float64(n)*math.Ln2)
		if !(1-2*tail >= 0.95) {
			break
		}
		rank, confidence = k, 1-2*tail
	}
	return rank, confidence
}
