package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/session"
)

// sanitizerApp returns triad with a GPU that the emulator plays, and with a compute-sanitizer that runs the
// worker and writes the report in $REPORT_<tool>.
func sanitizerApp(t *testing.T, reports map[string]string) (*app, func() string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "triad")); err != nil {
		t.Fatal(err)
	}
	for tool, text := range reports {
		if err := os.WriteFile(filepath.Join(bin, "report-"+tool), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	fake := `#!/bin/sh
[ "$1" = --version ] && { echo Version 2025.3.1; exit; }
tool=$2; log=$(echo "$4" | sed "s/%p/$$/"); shift 8
WATCHED=yes "$@"
[ -e "` + bin + `/report-$tool" ] && cp "` + bin + `/report-$tool" "$log"
exit 0
`
	if err := os.WriteFile(filepath.Join(bin, "compute-sanitizer"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	path := map[string]string{
		"PATH": bin + ":" + os.Getenv("PATH"), "CXX": os.Getenv("CXX"), "XDG_CACHE_HOME": sharedCache(t),
	}
	a, said := gpuApp(t, fmt.Sprintf(`[ "$1" = --facts ] && { %s; exit; }
case "$WATCHED $*" in "yes "*" --under "*) ;; "yes "*) echo "no --under: $*"; exit 1; esac
exec %s/triad worker cuda --cache "$2"`, facts(9, 13000), bin), path)
	return a, func() string { defer said.Reset(); return said.String() }
}

const cleanReport = "========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"

// TestSanitize: compare --sanitize runs the CUDA kernels under each tool and prints each finding with its
// place; clean is only what a tool watched to its end.
func TestSanitize(t *testing.T) {
	const uninitialized = `========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at swiglu_forward(const float *)+0x70 in swiglu.cu:27
=========     by thread (0,0,0) in block (0,0,0)
========= ERROR SUMMARY: 1 error
`
	a, said := sanitizerApp(t, map[string]string{"memcheck": cleanReport, "initcheck": uninitialized})
	run := func(tools string, more ...string) (string, session.ExitCode) {
		db := filepath.Join(t.TempDir(), "r.db")
		args := append([]string{
			"compare", "swiglu", "--offline", "--pass", "forward", "--dtype", "fp32", "--dims",
			"rows=2,cols=8",
			"--distribution", "normal", "--db", db, "--sanitize", tools,
		}, more...)
		code := a.execute(args)
		if code < session.ExitUsage && !strings.Contains(tools, ",") {
			if recorded := onlyExit(t, db); recorded != int(code) {
				t.Errorf("%s: exit %d is recorded, and the shell got %d", tools, recorded, code)
			}
		}
		return said(), code
	}
	text, code := run("memcheck")
	if code != session.ExitGood || !strings.Contains(text, "CLEAN") ||
		strings.Contains(text, "Never called") {
		t.Errorf("a clean run: exit %d\n%s", code, text)
	}
	text, code = run("memcheck,initcheck")
	if code != session.ExitBad || !strings.Contains(text, "FOUND") ||
		!strings.Contains(text, "swiglu.cu:27") ||
		!strings.Contains(text, "Uninitialized __global__ memory read") {
		t.Errorf("a read of memory that nobody wrote: exit %d\n%s", code, text)
	}
	text, code = run("synccheck") // writes no report
	if code != session.ExitBad || !strings.Contains(text, "UNPROVEN") ||
		!strings.Contains(text, "nothing is proven") {
		t.Errorf("a tool without a report: exit %d\n%s", code, text)
	}
	text, code = run("initcheck", "--json")
	if code != session.ExitBad ||
		!strings.Contains(text,
			`"kernel":"swiglu_forward(const float *)","file":"swiglu.cu","line":27,"count":1`) {
		t.Errorf("as JSON: exit %d\n%s", code, text)
	}
	if text, code = run("leakcheck"); code != session.ExitUsage ||
		!strings.Contains(text, "memcheck, racecheck, initcheck, synccheck") {
		t.Errorf("an unknown tool: exit %d\n%s", code, text)
	}
	if text, code = run("memcheck", "--impl", "torch"); code != session.ExitUsage ||
		!strings.Contains(text, "watches CUDA kernels") {
		t.Errorf("torch: exit %d\n%s", code, text)
	}
	if text, code = run("memcheck", "--device", "cpu"); code != session.ExitNothing ||
		!strings.Contains(text, "emulator itself") {
		t.Errorf("without a GPU: exit %d\n%s", code, text)
	}
}

// TestSanitizeChoosesCases: without sizes the tools get the cases that a survey chose: here, where the worker
// cannot tell its kernels, one on whole vectors and one on ragged rows for each implementation, pass and
// dtype.
func TestSanitizeChoosesCases(t *testing.T) {
	a, said := sanitizerApp(t, map[string]string{"memcheck": cleanReport, "racecheck": cleanReport})
	code := a.execute([]string{
		"compare", "swiglu", "--offline", "--pass", "forward", "--dtype", "fp32", "--impl",
		"cuda/naive,cuda/vec", "--db", filepath.Join(t.TempDir(), "r.db"),
		"--sanitize", "memcheck,racecheck", "--json",
	})
	text := said()
	if code != session.ExitGood || strings.Count(text, `"calls":`) != 2 {
		t.Fatalf("exit %d\n%s", code, text)
	}
	for _, want := range []string{
		`"tool":"memcheck"`, `"tool":"racecheck"`, `"swiglu cuda/naive forward"`,
		`"swiglu cuda/vec forward"`, `"never":null`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}
