package main

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"triad/internal/check"
)

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
