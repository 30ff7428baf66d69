package gpuworker

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"triad/internal/check"
)

// Each tool's message becomes a finding of the kind that the emulator has for it, in the program's own file.
func TestReportedByTools(t *testing.T) {
	file := filepath.Join(t.TempDir(), "planted.cu")
	for tool, want := range map[string][]check.Kind{
		"memcheck": {check.OutOfBounds, check.Launch}, "racecheck": {check.Race},
		"initcheck": {check.Uninitialised}, "synccheck": {check.Divergence},
	} {
		r := Report{Tool: tool}
		r.add(reports[tool])
		if len(r.Findings) != len(want) {
			t.Fatalf("%s: %+v, want %v", tool, r.Findings, want)
		}
		for i, f := range r.Findings {
			reported := f.reported(file)
			if reported.Kind != want[i] || reported.Sanitizer != tool || reported.Check != f.What {
				t.Errorf("%s: %+v is reported as %+v, want %v", tool, f, reported, want)
			}
			if f.Line > 0 && (reported.Place == nil || reported.Place.File != file ||
				reported.Place.Line != f.Line) {
				t.Errorf("%s: %+v is reported at %+v", tool, f, reported.Place)
			}
			if f.Line == 0 && reported.Place != nil {
				t.Errorf("%s: %+v is reported at %+v, and the tool names no line", tool, f, reported.Place)
			}
		}
	}
	for words, want := range map[string]check.Kind{
		"Invalid __shared__ read of size 4 bytes":                  check.OutOfBounds,
		"Invalid __global__ read of size 16 bytes, misaligned":     check.Misaligned,
		"Leaked 4,000 bytes at 0x7f":                               check.Leak,
		"Barrier error detected. Invalid arguments":                check.Divergence,
		"Malloc/Free error encountered: Double free":               check.DoubleFree,
		"Unspecified launch failure of a kind that nobody knows":   check.Trap,
		"Warning: (Warp Level Programming) Potential RAW hazard":   check.Race,
		"Program hit cudaErrorInvalidValue (error 1) on CUDA call": check.Launch,
	} {
		if got := (Finding{Tool: "memcheck", What: words}).reported(file).Kind; got != want {
			t.Errorf("%q is reported as %s, want %s", words, got, want)
		}
	}
}

// Both sides of a race are reported, in the program's file or in one of its folder.
func TestReportedRace(t *testing.T) {
	folder := t.TempDir()
	file, header := filepath.Join(folder, "a.cu"), filepath.Join(folder, "sum.cuh")
	if err := os.WriteFile(header, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := Finding{
		Tool: "racecheck", What: "Error: Race reported between Write access", Kernel: "k",
		File: "a.cu", Line: 5, Other: "Read access", OtherFile: "sum.cuh", OtherLine: 7,
	}.reported(file)
	if f.Access != "write" || f.OtherAccess != "read" || f.Place.File != file || f.Place.Line != 5 ||
		f.Other == nil || f.Other.File != header || f.Other.Line != 7 {
		t.Errorf("%+v at %+v and %+v", f, f.Place, f.Other)
	}
}

// Findings that add nothing are dropped: a race the other way round, what fails after a kernel was aborted,
// and how many more a tool found. Failed calls, and leaks, are reported if no kernel was aborted.
func TestReportedOnce(t *testing.T) {
	at := func(line int) *check.Place { return &check.Place{File: "/a.cu", Line: line} }
	race := func(line, other int) check.Finding {
		return check.Finding{
			Kind: check.Race, Sanitizer: "racecheck", Kernel: "k", Place: at(line), Other: at(other),
		}
	}
	beyond := check.Finding{Kind: check.OutOfBounds, Sanitizer: "memcheck", Kernel: "k", Place: at(3)}
	failed := check.Finding{
		Kind: check.Launch, Sanitizer: "memcheck", Check: "Program hit cudaErrorLaunchFailure (error 719)",
	}
	refused := check.Finding{
		Kind: check.Launch, Sanitizer: "memcheck", Check: "Program hit cudaErrorInvalidValue (error 1)",
	}
	leak := check.Finding{Kind: check.Leak, Sanitizer: "memcheck", Check: "Leaked 4 bytes"}
	barrier := check.Finding{
		Kind: check.Divergence, Sanitizer: "synccheck", Check: "Barrier error detected. Missing wait",
	}
	overflow := check.Finding{
		Kind: check.Trap, Sanitizer: "synccheck",
		Check: "Warning: Error buffer overflow has been detected. Some records have been dropped",
	}
	skipped := check.Finding{
		Kind: check.Trap, Sanitizer: "synccheck", Check: "896 errors were skipped (error buffer overflow)",
	}
	for name, c := range map[string]struct{ reported, want []check.Finding }{
		"other way round": {[]check.Finding{race(5, 6), race(6, 5)}, []check.Finding{race(5, 6)}},
		"other line":      {[]check.Finding{race(5, 6), race(5, 7)}, []check.Finding{race(5, 6), race(5, 7)}},
		"broken off":      {[]check.Finding{beyond, failed, refused, leak}, []check.Finding{beyond, refused}},
		"not broken off":  {[]check.Finding{beyond, leak}, []check.Finding{beyond, leak}},
		"no place":        {[]check.Finding{failed, leak}, []check.Finding{failed, leak}},
		"too many":        {[]check.Finding{barrier, overflow, skipped}, []check.Finding{barrier}},
		"none is shown":   {[]check.Finding{leak, overflow}, []check.Finding{leak, overflow}},
	} {
		got := reportedOnce(c.reported)
		same := slices.EqualFunc(got, c.want, func(a, b check.Finding) bool {
			return a.Kind == b.Kind && a.Check == b.Check && sameLines(a, b)
		})
		if !same {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
