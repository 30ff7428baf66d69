package check

import (
	"testing"

	"triad/internal/backend"
)

// TestNeeds: a kernel of the report gets the facts of its function, whatever its template or namespace.
func TestNeeds(t *testing.T) {
	facts := []backend.KernelFact{
		{Kernel: "_Z5twicePfi", Registers: 32},
		{Kernel: "_ZN2ns3addILi3EEEvPf", Registers: 40, SpillBytes: 8},
		{Kernel: "_ZN2ns3addILi4EEEvPf", Registers: 24},
	}
	for kernel, want := range map[string]Counts{
		"twice":      {Registers: 32, Warps: 64, WarpsOf: 64, WarpsLimit: "warps"},
		"ns::add<3>": {Registers: 40, SpillBytes: 8, Warps: 48, WarpsOf: 64, WarpsLimit: "registers"},
		"other":      {},
	} {
		got := Counts{Kernel: kernel, Threads: 256}
		AddNeeds(&got, facts, "sm_90")
		want.Kernel, want.Threads = kernel, 256
		if want.Registers > 0 {
			want.Arch = "sm_90"
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", kernel, got, want)
		}
	}
}
