package ladder

import (
	"triad/internal/op"
	"triad/internal/record"
)

// ColdTime returns the time of a record with nothing in the cache; nil if it has none that counts.
func ColdTime(r record.Record) *record.Timing {
	for i, t := range r.Timings {
		if t.Regime == "cold" && t.Status == op.StatusPass {
			return &r.Timings[i]
		}
	}
	return nil
}
