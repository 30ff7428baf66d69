package native

import (
	"math"
	"runtime/debug"
	"slices"
	"unsafe"

	"triad/internal/record"
	"triad/internal/stats"
)

// summary is the JSON of stats.Summary, in the unit of the samples.
type summary struct {
	N         int          `json:"n"`
	Median    float64      `json:"median"`
	Low       float64      `json:"low"` // with high: an interval that holds the median with 95 % confidence
	High      float64      `json:"high"`
	Least     float64      `json:"least"`
	P10       float64      `json:"p10"`
	P90       float64      `json:"p90"`
	HalfWidth record.Float `json:"half_width"` // of the interval, as a share of the median
}

// Summarize describes n positive, finite fp64 samples at an address, as triad does with measured times, in
// JSON.
func Summarize(samples uintptr, n int) (text string, err error) {
	defer guard("Summarize", &err)()
	enter("Summarize")
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	if n < 1 || n > maxElements || samples == 0 {
		return "", usagef("summarize %d samples at address %#x: want at least one", n, samples)
	}
	copied := slices.Clone(unsafe.Slice((*float64)(address(samples)), n))
	for i, x := range copied {
		if !(x > 0) || math.IsInf(x, 0) {
			return "", usagef("summarize %d samples: sample %d is %v: want positive finite numbers", n, i, x)
		}
	}
	s := stats.Summarise(copied)
	return asJSON(summary{s.N, s.Median, s.Low, s.High, s.Min, s.P10, s.P90, record.Float(s.HalfWidth)})
}
