package watched

import (
	"testing"

	"triad/internal/check"
	"triad/internal/ladder"
)

// TestTraffic: counts of lines are added up by what they touch; an atomic update reads and writes.
func TestTraffic(t *testing.T) {
	at := &check.Place{File: "a.cu", Line: 1}
	got := Traffic([]check.Counts{
		{Kernel: "k", Launches: 2, SharedBytes: 512},
		{
			Kernel: "k", Place: at, Memory: "device", Access: "read", Requests: 4, Lanes: 128, Parts: 16,
			Least: 16, Bytes: 512,
		},
		{
			Kernel: "k", Place: at, Memory: "device", Access: "write", Requests: 2, Lanes: 64, Parts: 60,
			Least: 8, Bytes: 256,
		},
		{
			Kernel: "k", Place: at, Memory: "device", Access: "atomic", Requests: 1, Lanes: 32, Parts: 1,
			Least: 1, Bytes: 128,
		},
		{
			Kernel: "k", Place: at, Memory: "shared", Access: "read", Requests: 1, Lanes: 32, Parts: 32,
			Least: 1, Bytes: 128,
		},
		{Kernel: "k", Place: at, Access: "run", Requests: 10, Lanes: 300, Parts: 3},
	})
	want := ladder.Traffic{
		ReadBytes: 640, WriteBytes: 384, Atomics: 1, Requests: 7, Lanes: 224, Sectors: 77, LeastSectors: 25,
		Wavefronts: 32, LeastWavefronts: 1, Runs: 10, PartRuns: 3, Launches: 2, SharedBytes: 512,
	}
	if got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
