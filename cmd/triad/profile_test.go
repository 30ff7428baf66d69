package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"triad/internal/session"
)

// profilerApp returns triad with a GPU that the emulator plays, and with an ncu that runs the worker and
// writes the contents of the file report as its counts.
func profilerApp(t *testing.T) (a *app, said func() string, report string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(self, filepath.Join(bin, "triad")); err != nil {
		t.Fatal(err)
	}
	fake := `#!/bin/sh
[ "$1" = --version ] && { echo Version 2025.3.1; exit; }
while [ "$1" != --log-file ]; do shift; done
log=$2; shift 2
cp ` + bin + `/report "$log"
"$@"
`
	if err := os.WriteFile(filepath.Join(bin, "ncu"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	path := map[string]string{
		"PATH": bin + ":" + os.Getenv("PATH"), "CXX": os.Getenv("CXX"), "XDG_CACHE_HOME": sharedCache(t),
	}
	a, out := gpuApp(t, fmt.Sprintf(`[ "$1" = --facts ] && { %s; exit; }
exec %s/triad worker cuda --cache "$2"`, facts(9, 13000), bin), path)
	return a, func() string { defer out.Reset(); return out.String() }, filepath.Join(bin, "report")
}

func profiled(t *testing.T, a *app) (folder string, code session.ExitCode) {
	t.Helper()
	folder = filepath.Join(t.TempDir(), "counted")
	line := "bench swiglu --offline --pass forward --dtype fp32 --dims rows=2,cols=8 --impl cuda/vec"
	return folder, a.execute(append(strings.Fields(line), "--db", filepath.Join(t.TempDir(), "r.db"),
		"--profile", folder))
}

// TestProfile: bench --profile judges, and prints what the warps of each kernel wait for. If ncu may not read
// the counters or sees no kernel, a sentence says so, and nothing is called wrong.
func TestProfile(t *testing.T) {
	a, said, report := profilerApp(t)
	write := func(text string) {
		if err := os.WriteFile(report, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	counted, err := os.ReadFile("testdata/profiled.csv")
	if err != nil {
		t.Fatal(err)
	}
	write(string(counted))
	folder, code := profiled(t, a)
	text := said()
	for _, want := range []string{
		"PASS", "f<float, 4>", "64x2", "6.000 us", "long scoreboard 2.8, barrier 0.5",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	if code != session.ExitGood {
		t.Errorf("exit %d", code)
	}
	// a counter of the GPU is a number, and a missing one is not
	if row := regexp.MustCompile(`(?m)^.*f<float, 4>.*$`).FindString(text); !strings.Contains(row, "n/a") ||
		strings.Contains(row, " 0 %") {
		t.Errorf("a counter that the GPU does not have: %s", row)
	}
	if kept, _ := filepath.Glob(filepath.Join(folder, "*.csv")); len(kept) != 1 {
		t.Errorf("kept %v, want one file", kept)
	}
	if code := a.execute(strings.Fields("bench swiglu --profile " + folder)); code != session.ExitUsage {
		t.Errorf("a folder with profiles: exit %d\n%s", code, said())
	}
	said()
	for counts, says := range map[string]string{
		"==ERROR== ERR_NVGPUCTRPERM - The user does not have permission": "may not read this GPU's counters",
		"==WARNING== No kernels were profiled.\n":                        "ncu saw no kernel",
	} {
		write(counts)
		_, code := profiled(t, a)
		if text := said(); code != session.ExitNothing || !strings.Contains(text, says) {
			t.Errorf("exit %d, want 3 and %q in\n%s", code, says, text)
		}
	}
}

// TestProfileWithoutNCU: without ncu a sentence says how to get it.
func TestProfileWithoutNCU(t *testing.T) {
	a, said := gpuApp(t, fmt.Sprintf(`[ "$1" = --facts ] && { %s; exit; }`, facts(9, 13000)),
		map[string]string{"PATH": t.TempDir(), "CUDA_HOME": t.TempDir()})
	if _, code := profiled(t, a); code != session.ExitNothing || !strings.Contains(said.String(), "no ncu") {
		t.Errorf("exit %d\n%s", code, said.String())
	}
}
