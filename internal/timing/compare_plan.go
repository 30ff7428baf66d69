package timing

import (
	"time"
)

// ComparePlan returns how compare times what passed: cold, and short.
func ComparePlan() *Plan {
	return &Plan{
		Regimes: []Regime{{Cold: true}}, Rounds: 60, Budget: 1500 * time.Millisecond,
		Wake: 500 * time.Millisecond,
	}
}
