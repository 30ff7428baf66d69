package report

import (
	"fmt"
	"strings"

	"triad/internal/op"
	"triad/internal/record"
)

// sum is the time of the fastest forward plus that of the fastest backward of one family, on the same sizes
// in the same regime. A backward that could only be timed with its forward is compared with it.
type sum struct {
	forward, backward string
	ns                float64
}

// sums returns the shortest sum for each case of a backward and regime.
func sums(records []record.Record) map[string]sum {
	type part struct{ key, family string }
	fastest := [2]map[part]sum{{}, {}} // of forwards, of backwards
	for _, r := range records {
		family, _, _ := strings.Cut(r.Impl, "/")
		for _, t := range r.Timings {
			if t.Status != op.StatusPass || t.Backward == record.ForwardBackward {
				continue
			}
			of, p := fastest[0], part{sizesKey(r.Case, t.Regime), family}
			if r.Case.Pass == op.Backward {
				of = fastest[1]
			}
			if old, known := of[p]; !known || t.MedianNS < old.ns {
				of[p] = sum{forward: r.Impl, backward: r.Impl, ns: t.MedianNS}
			}
		}
	}
	shortest := map[string]sum{}
	for p, b := range fastest[1] {
		f, known := fastest[0][p]
		if !known {
			continue
		}
		s := sum{f.forward, b.backward, f.ns + b.ns}
		old, any := shortest[p.key]
		if !any || s.ns < old.ns || s.ns == old.ns && s.backward < old.backward {
			shortest[p.key] = s
		}
	}
	return shortest
}

// sizesKey returns the same key for a forward and a backward of the same sizes.
func sizesKey(c op.Case, regime string) string {
	return fmt.Sprint(c.Op, " ", c.DType, " ", c.Dims, " ", c.Attrs, " ", c.Layout, " ", c.Distribution, " ",
		regime)
}

// ratio divides the time ns of a forward and backward by the sum; "" where no sum is known.
func (s sum) ratio(ns float64) string {
	switch {
	case s.ns <= 0:
		return ""
	case ns >= 10*s.ns:
		return fmt.Sprintf("%.0f x", ns/s.ns)
	}
	return fmt.Sprintf("%.2f x", ns/s.ns)
}

// sayBackward notes the start of a timed backward, unless it started from its own forward's saved tensors. s
// is the sum that a pair is compared with.
func (l *timeLine) sayBackward(s sum) {
	words := ""
	switch l.timing.Backward {
	case record.RetainedGraph:
		words = "alone, through a retained graph"
	case record.ForwardBackward:
		l.impl, l.pair, words = l.impl+" "+record.ForwardBackward, &s, "its forward is timed with it"
		if s.ns > 0 {
			words += fmt.Sprintf(": beside %s, the sum of %s forward and %s backward", Duration(s.ns),
				s.forward, s.backward)
		}
	default:
		return
	}
	l.note = strings.TrimSuffix(words+"; "+l.note, "; ")
}
