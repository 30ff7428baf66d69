package watched

import (
	"triad/internal/check"
	"triad/internal/ladder"
)

// Traffic adds up the counts of the kernels of one call.
func Traffic(counts []check.Counts) ladder.Traffic {
	var t ladder.Traffic
	for _, c := range counts {
		switch {
		case c.Place == nil:
			t.Launches += c.Launches
			t.SharedBytes = max(t.SharedBytes, c.SharedBytes)
		case c.Access == "run":
			t.Runs += c.Requests
			t.PartRuns += c.Parts
		case c.Memory == "shared":
			t.Wavefronts += c.Parts
			t.LeastWavefronts += c.Least
		default:
			t.Requests += c.Requests
			t.Lanes += c.Lanes
			t.Sectors += c.Parts
			t.LeastSectors += c.Least
			if c.Access == "atomic" {
				t.Atomics += c.Requests
			}
			if c.Access != "read" {
				t.WriteBytes += c.Bytes
			}
			if c.Access != "write" {
				t.ReadBytes += c.Bytes
			}
		}
	}
	return t
}
