package plot

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Unit decides how the numbers of an axis are written.
type Unit string

// The units of an axis.
const (
	Plain   Unit = ""
	NS      Unit = "ns"      // a time of ns: "1.5 us"
	Bytes   Unit = "bytes"   // "2 MB"
	FLOPs   Unit = "FLOP/s"  // "3 TFLOP/s"
	Work    Unit = "FLOP"    // "3 TFLOP"
	UTC     Unit = "utc"     // seconds since 1970: a date
	Ratio   Unit = "ratio"   // "1.5 x"
	Session Unit = "session" // the number of a session in its order
)

// Axis describes one side of a chart.
type Axis struct {
	Label string `json:"label"`
	Unit  Unit   `json:"unit"`
	Log   bool   `json:"log"`
}

// Text formats a number of the axis.
func (a Axis) Text(v float64) string {
	switch a.Unit {
	case NS:
		return scaled(v, []string{"ns", "us", "ms", "s"}, 1e3)
	case Bytes:
		return scaled(v, []string{"B", "kB", "MB", "GB", "TB"}, 1e3)
	case FLOPs:
		return scaled(v, []string{"FLOP/s", "kFLOP/s", "MFLOP/s", "GFLOP/s", "TFLOP/s", "PFLOP/s"}, 1e3)
	case Work:
		return scaled(v, []string{"FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"}, 1e3)
	case UTC:
		return time.Unix(int64(v), 0).UTC().Format(time.DateOnly)
	case Ratio:
		return digits(v) + " x"
	}
	return digits(v)
}

func scaled(v float64, units []string, step float64) string {
	i := 0
	for ; i < len(units)-1 && math.Abs(v) >= step; i++ {
		v /= step
	}
	return digits(v) + " " + units[i]
}

// digits formats a number with at most three decimals, or three digits if it is very large or small.
func digits(v float64) string {
	if size := math.Abs(v); size >= 1e4 || size > 0 && size < 1e-3 {
		return strings.Replace(fmt.Sprintf("%.3g", v), "e+0", "e", 1)
	}
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64)
}

// span is the part of an axis that is shown, and its position in pixels.
type span struct {
	Axis
	low, high  float64
	from, to   float64
	wholeSteps bool // ticks at integers only
}

// newSpan returns a span that fits the values.
func newSpan(a Axis, values []float64, from, to float64) span {
	s := span{Axis: a, low: math.Inf(1), high: math.Inf(-1), from: from, to: to}
	s.wholeSteps = a.Unit == Session || a.Unit == UTC
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || a.Log && v <= 0 {
			continue
		}
		s.low, s.high = math.Min(s.low, v), math.Max(s.high, v)
	}
	switch {
	case s.low > s.high:
		s.low, s.high = 1, 10
	case a.Log:
		margin := math.Max(math.Pow(s.high/s.low, 0.05), 1.15)
		s.low, s.high = s.low/margin, s.high*margin
	case slices.Contains([]Unit{NS, FLOPs, Work, Bytes}, a.Unit):
		s.low, s.high = 0, s.high*1.08
	default:
		margin := (s.high - s.low) * 0.06
		if margin == 0 {
			margin = math.Max(math.Abs(s.high)*0.1, 0.5)
		}
		s.low, s.high = s.low-margin, s.high+margin
	}
	return s
}

// at returns the position of a value in pixels; what lies outside is put at the edge.
func (s span) at(v float64) float64 {
	share := (v - s.low) / (s.high - s.low)
	if s.Log {
		share = math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	if !(share >= 0) {
		share = 0
	}
	return s.from + math.Min(share, 1)*(s.to-s.from)
}

// ticks returns the values that the axis labels, about n at most.
func (s span) ticks(n int) []float64 {
	if s.Log {
		return s.logTicks(n)
	}
	raw := (s.high - s.low) / float64(n)
	unit := math.Pow(10, math.Floor(math.Log10(raw)))
	step := unit * 10
	for _, m := range []float64{1, 2, 5} {
		if m*unit >= raw {
			step = m * unit
			break
		}
	}
	if s.wholeSteps {
		step = math.Max(step, 1)
	}
	if s.Unit == UTC {
		step = timeStep(raw)
	}
	var all []float64
	for i := math.Ceil(s.low / step); i*step <= s.high; i++ {
		all = append(all, i*step)
	}
	return all
}

// timeStep returns a step of whole minutes, hours or days of at least the given seconds.
func timeStep(least float64) float64 {
	for _, step := range []float64{60, 300, 900, 3600, 4 * 3600, 12 * 3600} {
		if step >= least {
			return step
		}
	}
	return math.Ceil(least/86400) * 86400
}

// text formats a number of the axis; a time includes the minute if days would not distinguish it from the
// next.
func (s span) text(v float64) string {
	if s.Unit == UTC && s.high-s.low < 4*86400 {
		return time.Unix(int64(v), 0).UTC().Format("01-02 15:04")
	}
	return s.Text(v)
}

func (s span) logTicks(n int) []float64 {
	decades := math.Log10(s.high / s.low)
	within := []float64{1}
	if decades <= float64(n)/3 {
		within = []float64{1, 2, 5}
	}
	every := math.Max(1, math.Ceil(decades/float64(n)))
	var all []float64
	for e := math.Floor(math.Log10(s.low)/every) * every; e <= math.Log10(s.high); e += every {
		for _, m := range within {
			if v := m * math.Pow(10, e); v >= s.low && v <= s.high {
				all = append(all, v)
			}
		}
	}
	if len(all) < 2 { // a narrow span lies between two ticks: label its ends
		return []float64{s.low, math.Sqrt(s.low * s.high), s.high}
	}
	return all
}
