package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"triad/internal/backend"
	"triad/internal/check"
)

// TestNeeds: a kernel of the report gets the facts of its function, whatever its template or namespace.
func TestNeeds(t *testing.T) {
	facts := []backend.KernelFact{
		{Kernel: "_Z5twicePfi", Registers: 32},
		{Kernel: "_ZN2ns3addILi3EEEvPf", Registers: 40, SpillBytes: 8},
		{Kernel: "_ZN2ns3addILi4EEEvPf", Registers: 24},
	}
	for kernel, want := range map[string]check.Counts{
		"twice":      {Registers: 32, Warps: 64, WarpsOf: 64, WarpsLimit: "warps"},
		"ns::add<3>": {Registers: 40, SpillBytes: 8, Warps: 48, WarpsOf: 64, WarpsLimit: "registers"},
		"other":      {},
	} {
		got := check.Counts{Kernel: kernel, Threads: 256}
		addNeeds(&got, facts, "sm_90")
		want.Kernel, want.Threads = kernel, 256
		if want.Registers > 0 {
			want.Arch = "sm_90"
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", kernel, got, want)
		}
	}
}

// TestCheckExplainsRegisters: --explain shows nvcc's facts on a kernel, or says that there is no nvcc; an
// unknown card is rejected.
func TestCheckExplainsRegisters(t *testing.T) {
	file := checkFile(t, with(""))
	if text, code := runTriad(t, "check", "--explain", "--arch", "sm_12", file); code != 2 ||
		!strings.Contains(text, "want sm_75") {
		t.Errorf("sm_12: exit %d\n%s", code, text)
	}
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	text, err := exec.Command(self, "check", "--explain", "--json", "--arch", "sm_80", file).Output()
	if err != nil {
		t.Fatal(err)
	}
	var report check.Report
	if err := json.Unmarshal(text, &report); err != nil {
		t.Fatal(err)
	}
	if len(report.Notes) > 0 && strings.Contains(report.Notes[0], "there is no nvcc") {
		return
	}
	found := false
	for _, c := range report.Counts {
		found = found || c.Kernel == "twice" && c.Arch == "sm_80" && c.Registers > 0 && c.WarpsOf == 64
	}
	if !found {
		t.Errorf("no registers of twice in\n%s", text)
	}
}
