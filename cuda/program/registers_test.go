package program

import (
	"errors"
	"testing"
)

// TestOccupancy: known cases of NVIDIA's occupancy calculator.
func TestOccupancy(t *testing.T) {
	for _, c := range []struct {
		arch                       string
		threads, registers, shared int
		want                       Occupancy
	}{
		{"sm_90", 256, 32, 0, Occupancy{64, 64, "warps"}},
		{"sm_90a", 256, 40, 0, Occupancy{48, 64, "registers"}},
		{"sm_90", 32, 16, 0, Occupancy{32, 64, "blocks"}},
		{"sm_80", 1024, 64, 0, Occupancy{32, 64, "registers"}},
		{"sm_90", 128, 255, 0, Occupancy{8, 64, "registers"}},
		{"sm_90", 256, 32, 48 << 10, Occupancy{32, 64, "shared memory"}},
		{"sm_86", 256, 32, 0, Occupancy{48, 48, "warps"}},
		{"sm_75", 1024, 32, 64 << 10, Occupancy{32, 32, "warps"}},
		{"sm_90", 33, 32, 0, Occupancy{64, 64, "warps"}},
	} {
		got, err := OccupancyOn(c.arch, c.threads, c.registers, c.shared)
		if err != nil || got != c.want {
			t.Errorf(
				"%s, %d threads, %d registers, %d bytes: %+v, %v, want %+v",
				c.arch,
				c.threads,
				c.registers,
				c.shared,
				got,
				err,
				c.want,
			)
		}
	}
	if _, err := OccupancyOn("sm_42", 32, 32, 0); !errors.Is(err, ErrArchitecture) {
		t.Errorf("sm_42: %v", err)
	}
}
