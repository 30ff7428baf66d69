package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/check"
	"triad/internal/need"
)

// TestCheckSanitize: --sanitize finds what the emulator alone does not, as text, JSON and SARIF, in a program
// and in a solve().
func TestCheckSanitize(t *testing.T) {
	need.Tool(t, "g++")
	t.Setenv("CXX", "g++")
	file := checkFile(t, with("int *p = new int[3]; p[argc + 2] = 1; "+
		"printf(\"%d\\n\", p[0] = 1); delete[] p;"))
	if text, code := runTriad(t, "check", file); code != 0 {
		t.Errorf("without --sanitize: exit %d\n%s", code, text)
	}
	text, code := runTriad(t, "check", "--sanitize", "address", file)
	for _, want := range []string{
		"host code reads or writes out of bounds, 0 bytes past the end of host memory of 12 bytes\n",
		"program.cu:16: write of 4 bytes", "reported by AddressSanitizer: heap-buffer-overflow",
		"; and under AddressSanitizer, UndefinedBehaviorSanitizer.",
	} {
		if code != 1 || !strings.Contains(text, want) {
			t.Errorf("exit %d, no %q in\n%s", code, want, text)
		}
	}
	sarif := filepath.Join(t.TempDir(), "it.sarif")
	text, code = runTriad(t, "check", "--sanitize=address", "--json", "--sarif", sarif, file)
	var report check.Report
	at := strings.Index(text, "{")
	if err := json.Unmarshal([]byte(text[max(at, 0):]), &report); code != 1 || err != nil {
		t.Fatalf("exit %d, %v: %s", code, err, text)
	}
	if len(report.Findings) != 1 || report.Findings[0].Kind != check.HostOutOfBounds ||
		report.Findings[0].Place.Line != 16 || len(report.Sanitizers) != 1 {
		t.Errorf("%+v", report)
	}
	written, err := os.ReadFile(sarif)
	if err != nil || !strings.Contains(string(written), `"ruleId": "host-out-of-bounds"`) {
		t.Errorf("%v: %s", err, written)
	}
	file = checkFile(t, strings.Replace(product, "INDEX", "(i / N * K + k) % (1 << N + 30)", 1))
	sizes := "--size M=2 --size N=3 --size K=4 --size a=M*K --size b=K*N --size c=M*N"
	text, code = runTriad(t, append([]string{"check", "--sanitize", "address", file},
		strings.Fields(sizes)...)...)
	for _, want := range []string{
		"a shift by more bits", "in kernel product", "in the call solve(M=2, N=3, K=4)",
	} {
		if code != 1 || !strings.Contains(text, want) {
			t.Errorf("solve: exit %d, no %q in\n%s", code, want, text)
		}
	}
}

// TestCheckSanitizeRefusals: unknown words of --sanitize, and targets that it is not for, are refused.
func TestCheckSanitizeRefusals(t *testing.T) {
	for _, c := range []struct{ args, says string }{
		{"check --sanitize memory x.cu", `--sanitize "memory": want all, or of address, thread`},
		{"check --sanitize all " + judgedOperator, "--sanitize is for programs"},
		{"check --sanitize all --debug x.cu", "--sanitize"},
	} {
		text, code := runTriad(t, strings.Fields(c.args)...)
		if code != 2 || !strings.Contains(text, c.says) {
			t.Errorf("%s: exit %d, no %q in %s", c.args, code, c.says, text)
		}
	}
}

// TestCheckSanitizeWithoutLibraries: a compiler without sanitizer libraries is reported in one sentence, and
// nothing is checked.
func TestCheckSanitizeWithoutLibraries(t *testing.T) {
	gxx := need.Tool(t, "g++")
	bare := filepath.Join(steadyFolder(t, "bare-compiler"), "g++") // the emulator is kept under its path too
	script := "#!/bin/sh\nfor a; do case $a in -fsanitize=address*) echo '/usr/bin/ld: cannot find " +
		"/usr/lib64/libasan.so.8.0.0' >&2; exit 1;; esac; done\nexec " + gxx + " \"$@\"\n"
	if err := os.WriteFile(bare, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CXX", bare)
	text, code := runTriad(t, "check", "--sanitize", "all", checkFile(t, with("")))
	if code != 3 || !strings.Contains(text, "has no libraries for -fsanitize=address: install them") {
		t.Errorf("exit %d: %s", code, text)
	}
}
