package smallestcase

import (
	"time"

	"triad/internal/machine"
	"triad/internal/watched"
)

// Calls returns watched calls for a comparison, with less time for them than a check has.
func Calls(w *machine.Workers) *watched.Calls {
	return watched.NewCalls(w.ProgramBuilder, watched.Limits{
		Run: 20 * time.Second, Stall: 10 * time.Second, All: 20 * time.Second,
	})
}
