package compare

import (
	"time"

	"triad/internal/machine"
	"triad/internal/watched"
)

// watchedCallsOf returns calls for a comparison, with less time for them than a check has.
func watchedCallsOf(w *machine.Workers) *watched.Calls {
	return watched.NewCalls(w.ProgramBuilder, watched.Limits{
		Run: 20 * time.Second, Stall: 10 * time.Second, All: 20 * time.Second,
	})
}
