package gpuworker

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/internal/backend"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/subprocess"
	"triad/internal/tensor"
	"triad/internal/worker"
)

//go:embed testdata/planted.cu
var planted []byte

// reports holds reports as the tools write them.
var reports = map[string]string{
	"memcheck": `========= COMPUTE-SANITIZER
========= Invalid __global__ write of size 4 bytes
=========     at <unnamed>::beyond(float *, long)+0x1a0 in planted.cu:14
=========     by thread (33,0,0) in block (0,0,0)
=========     Access to 0x7f81f2800084 is out of bounds
=========     and is 1 bytes after the nearest allocation at 0x7f81f2800000 of size 132 bytes
=========
========= Invalid __global__ write of size 4 bytes
=========     at <unnamed>::beyond(float *, long)+0x1a0 in planted.cu:14
=========     by thread (34,0,0) in block (0,0,0)
========= Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch failure" on ` +
		"CUDA API call to cuCtxSynchronize." + `
=========
========= ERROR SUMMARY: 3 errors
`,
	"racecheck": `========= COMPUTE-SANITIZER
========= Error: Race reported between Write access at <unnamed>::race(float *, long)+0xd0 in planted.cu:20
=========     and Read access at <unnamed>::race(float *, long)+0x1c0 in planted.cu:21 [508 hazards]
=========
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
`,
	"initcheck": `========= COMPUTE-SANITIZER
========= Uninitialized __global__ memory read of size 4 bytes
=========     at <unnamed>::unwritten(float *, const float *, long)+0x70 in planted.cu:27
=========     by thread (0,0,0) in block (0,0,0)
=========     Address 0x7f1234
=========
========= ERROR SUMMARY: 1 error
`,
	"synccheck": `========= COMPUTE-SANITIZER
========= Barrier error detected. Divergent thread(s) in block.
=========     at <unnamed>::divergent(float *, long)+0x90 in planted.cu:35
=========     by thread (0,0,0) in block (0,0,0)
=========
========= ERROR SUMMARY: 1 error
`,
}

// Every planted kernel is registered under its name, and no other is.
func TestPlantedAreRegistered(t *testing.T) {
	names := []string{"right"}
	for _, tool := range Sanitizers {
		names = append(names, plantedFor[tool]...)
	}
	registered := strings.Count(string(planted), "\nPLANTED(")
	for _, name := range names {
		if !strings.Contains(string(planted), "\nPLANTED("+name+", ") {
			t.Errorf("planted.cu does not register %s", name)
		}
	}
	if registered != len(names) {
		t.Errorf("planted.cu registers %d kernels, want %d", registered, len(names))
	}
}

func TestReadReports(t *testing.T) {
	want := map[string][]Finding{
		"memcheck": {
			{
				Tool: "memcheck", What: "Invalid __global__ write of size 4 bytes",
				Kernel: "<unnamed>::beyond(float *, long)", File: "planted.cu", Line: 14, Count: 2,
			},
			{
				Tool: "memcheck",
				What: `Program hit cudaErrorLaunchFailure (error 719) due to "unspecified launch ` +
					`failure" on CUDA API call to cuCtxSynchronize`, Count: 1,
			},
		},
		"racecheck": {{
			Tool: "racecheck", What: "Error: Race reported between Write access",
			Kernel: "<unnamed>::race(float *, long)", File: "planted.cu", Line: 20, Count: 1,
			Other: "Read access", OtherFile: "planted.cu", OtherLine: 21,
		}},
		"initcheck": {{
			Tool: "initcheck", What: "Uninitialized __global__ memory read of size 4 bytes",
			Kernel: "<unnamed>::unwritten(float *, const float *, long)", File: "planted.cu", Line: 27,
			Count: 1,
		}},
		"synccheck": {{
			Tool: "synccheck", What: "Barrier error detected. Divergent thread(s) in block",
			Kernel: "<unnamed>::divergent(float *, long)", File: "planted.cu", Line: 35, Count: 1,
		}},
	}
	folder := t.TempDir()
	for tool, text := range reports {
		if err := os.WriteFile(filepath.Join(folder, tool+"-17.txt"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, tool := range Sanitizers {
		r, err := ReadReports(tool, folder)
		if err != nil || r.Processes != 1 || r.Cut != 0 || r.Clean() {
			t.Errorf("%s: %+v, %v", tool, r, err)
		}
		if len(r.Findings) != len(want[tool]) {
			t.Fatalf("%s: found %+v, want %+v", tool, r.Findings, want[tool])
		}
		for i, f := range r.Findings {
			if f != want[tool][i] {
				t.Errorf("%s: finding %d is %+v, want %+v", tool, i, f, want[tool][i])
			}
		}
	}
}

// Clean requires a complete report: no report, or one that was cut off, proves nothing.
func TestCleanNeedsASummary(t *testing.T) {
	for _, c := range []struct {
		name  string
		text  []string
		clean bool
	}{
		{"clean", []string{"========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n"}, true},
		{"races", []string{"========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed " +
			"(0 errors, 0 warnings)\n"}, true},
		{"none", nil, false},
		{"cut", []string{"========= COMPUTE-SANITIZER\n"}, false},
		{"one of two cut", []string{
			"========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n",
			"========= COMPUTE-SANITIZER\n",
		}, false},
	} {
		folder := t.TempDir()
		for i, text := range c.text {
			if err := os.WriteFile(filepath.Join(folder, "memcheck-"+string(rune('0'+i))+".txt"),
				[]byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if r, err := ReadReports("memcheck", folder); err != nil || r.Clean() != c.clean {
			t.Errorf("%s: %+v, %v, want clean %v", c.name, r, err, c.clean)
		}
	}
}

// A kernel compiled without line numbers is named without a file.
func TestFindingWithoutAPlace(t *testing.T) {
	r := Report{Tool: "memcheck"}
	r.add("========= COMPUTE-SANITIZER\n========= Invalid __global__ write of size 4 bytes\n" +
		"=========     at beyond(float *)+0x1a0\n========= ERROR SUMMARY: 1 error\n")
	want := Finding{
		Tool: "memcheck", What: "Invalid __global__ write of size 4 bytes",
		Kernel: "beyond(float *)", Count: 1,
	}
	if len(r.Findings) != 1 || r.Findings[0] != want {
		t.Errorf("%+v, want %+v", r.Findings, want)
	}
}

// A worker runs under the tool with its own arguments, gets the tool's name, and its report is found.
func TestUnder(t *testing.T) {
	bin := t.TempDir()
	fake := `if [ "$1" = --version ]; then echo 'NVIDIA (R) Compute Sanitizer
Version 2025.3.1.0 (build 1) (public-release)'; exit; fi
while [ "$1" != --log-file ]; do shift; done
log=$(echo "$2" | sed "s/%p/$$/"); shift 2
while [ "${1#--}" != "$1" ]; do shift 2; done
"$@"
printf '========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n' >"$log"`
	if err := os.WriteFile(filepath.Join(bin, "compute-sanitizer"), []byte("#!/bin/sh\n"+fake+"\n"),
		0o755); err != nil {
		t.Fatal(err)
	}
	getenv := func(name string) string { return map[string]string{"PATH": "/nowhere:" + bin}[name] }
	s, err := FindSanitizer(t.Context(), getenv)
	if err != nil || s.Version != "2025.3.1.0" {
		t.Fatalf("%+v, %v", s, err)
	}
	logs := t.TempDir()
	c := s.Under("racecheck", logs, worker.Command{Path: "/bin/echo", Args: []string{"--cache", "here"}})
	out, err := exec.Command(c.Path, c.Args...).Output()
	if err != nil || strings.TrimSpace(string(out)) != "--cache here --under racecheck" {
		t.Errorf("the worker printed %q, %v", out, err)
	}
	if r, err := ReadReports("racecheck", logs); err != nil || !r.Clean() {
		t.Errorf("%+v, %v", r, err)
	}
	_, err = FindSanitizer(t.Context(), func(string) string { return "" })
	if err != nil && !strings.Contains(missing(t, err), "CUDA toolkit") {
		t.Errorf("without one: %v", err)
	}
}

// plantedFor lists the kernels of planted.cu with a bug that a tool can find. If there are several, one found
// bug suffices: which barriers synccheck reports depends on the GPU. On one of compute capability 9.0 (CUDA
// 13.0) it finds divergent, by_warp and wrong_mask, and not half_warp, where every other thread of each warp
// waits alone: nothing hangs there, and nothing is reported.
var plantedFor = map[string][]string{
	"memcheck": {"beyond"}, "racecheck": {"race"},
	"initcheck": {"unwritten"}, "synccheck": {"divergent", "by_warp", "half_warp", "wrong_mask"},
}

// Each tool finds a bug that is planted for it, at its line, and nothing in the kernel without one.
func TestPlantedBugsOnGPU(t *testing.T) {
	folder, path, g := gpuFolder(t)
	s, err := FindSanitizer(t.Context(), os.Getenv)
	if err != nil {
		need.GPU(t, err.Error())
	}
	kernels := disguised(t, folder, g, "planted.cu", planted)
	for _, tool := range Sanitizers {
		t.Run(tool, func(t *testing.T) {
			t.Parallel()
			if r := watched(t, s, tool, path, kernels, "right"); !r.Clean() {
				t.Error("the kernel without a bug is not clean")
			}
			found := []string{}
			for _, variant := range plantedFor[tool] {
				for _, f := range watched(t, s, tool, path, kernels, variant).Findings {
					if strings.Contains(f.Kernel, variant) && f.File == "planted.cu" && f.Line > 0 {
						found = append(found, variant)
						break
					}
				}
			}
			line := fmt.Sprintf("%s finds %d of the %d bugs planted for it: %v", tool, len(found),
				len(plantedFor[tool]), plantedFor[tool])
			if os.Getenv("TRIAD_FIGURES") != "" {
				leave(t, "planted-"+tool, line, map[string][]string{
					"planted": plantedFor[tool],
					"found":   found,
				})
			} else {
				fmt.Println("figure planted:", line)
			}
			if len(found) == 0 {
				t.Errorf("%s finds none of %v", tool, plantedFor[tool])
			}
		})
	}
}

// watched runs one kernel under a tool, in a worker of its own, and returns the tool's report. A barrier that
// waits forever is killed.
func watched(t *testing.T, s Sanitizer, tool, path, kernels, variant string) Report {
	t.Helper()
	logs, cache := t.TempDir(), t.TempDir()
	limits := worker.DefaultLimits
	limits.First = 20 * time.Second
	a := &worker.Adapter{
		BackendName: "cuda", FamilyNames: []string{"cuda"}, GPU: true,
		Options: worker.Options{Limits: limits, Grace: subprocess.Grace{
			Term: 15 * time.Second,
			Kill: 5 * time.Second,
		}},
		Slot: func(string) string { return "gpu" },
		Command: func(context.Context) (worker.Command, error) {
			return s.Under(tool, logs, worker.Command{Path: path, Env: os.Environ(), Args: []string{
				"--cache",
				cache, "--kernels", kernels,
			}}), nil
		},
	}
	x := tensor.New("x", op.FP32, []int64{33, 1})
	outcome, err := a.Run(t.Context(), backend.Job{
		DType: "fp32", Contract: "fp32", Inputs: []tensor.Tensor{x},
		Implementation: backend.Implementation{
			Name: "cuda/" + variant, Op: "softmax", Pass: op.Forward,
			Contract: "fp32",
		},
		Outputs:  []op.TensorType{{Name: "y", DType: op.FP32, Shape: []int64{33, 1}}},
		Launches: []backend.LaunchPlan{{Poison: "a"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Error(err)
	}
	r, err := ReadReports(tool, logs)
	t.Logf("%s: %v %s; %+v, %v", variant, outcome.Status, outcome.Sentence, r, err)
	return r
}

// A user's program runs with its arguments behind those of the tool; memcheck looks for leaks too.
func TestProgramUnderATool(t *testing.T) {
	for tool, leaks := range map[string]bool{"memcheck": true, "racecheck": false} {
		c := Sanitizer{Path: "/opt/sanitizer"}.Program(tool, "/logs", "/bin/mine", []string{"one", "two"})
		line, begin := strings.Join(c.Args, " "), "--tool "+tool+" --log-file /logs/"+tool+"-%p.txt "
		if c.Path != "/opt/sanitizer" || !strings.HasPrefix(line, begin) ||
			!strings.HasSuffix(line, " /bin/mine one two") {
			t.Errorf("%s %s", c.Path, line)
		}
		if strings.Contains(line, "--leak-check full") != leaks {
			t.Errorf("leaks: %s", line)
		}
	}
}
