package main

import (
	"time"

	"triad/internal/timing"
)

// comparePlan returns how compare times what passed: cold, and short.
func comparePlan() *timing.Plan {
	return &timing.Plan{
		Regimes: []timing.Regime{{Cold: true}}, Rounds: 60, Budget: 1500 * time.Millisecond,
		Wake: 500 * time.Millisecond,
	}
}
