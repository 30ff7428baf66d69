package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"triad/internal/check"
)

// fakeToolkit is a toolkit whose nvcc makes a program that prints its arguments and its input, and whose
// compute-sanitizer runs it and writes a separate report for each tool.
var fakeToolkit = map[string]string{
	"nvcc": `#!/bin/sh
[ "$1" = --version ] && { echo "Cuda compilation tools, release 13.0, V13.0.88"; exit; }
case "$*" in *BROKEN*) echo "$PWD/program.cu(3): error: expected a \";\"" >&2; exit 1;; esac
while [ "$1" != -o ]; do shift; done
printf '#!/bin/sh\necho "$@"; cat; case $1 in fails) exit 3;; waits) sleep 100;; esac\n' > "$2"; chmod +x "$2"
`,
	"compute-sanitizer": `#!/bin/sh
[ "$1" = --version ] && { echo Version 2025.3.1; exit; }
tool=$2; log=$(echo "$4" | sed "s/%p/$$/"); shift 8
[ "$1" = --leak-check ] && shift 2
"$@"
code=$?
case $3 in
unseen) exit 1;;
clean) printf '========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n' > "$log"; exit $code;;
esac
{
echo "========= COMPUTE-SANITIZER"
case $tool in
memcheck) echo "========= Invalid __global__ write of size 4 bytes"
	echo "=========     at twice(float *, int)+0x70 in program.cu:6"
	echo '========= Program hit cudaErrorLaunchFailure (error 719) on CUDA API call'
	echo "========= Leaked 4,000 bytes at 0x7f";;
racecheck)
	echo "========= Error: Race reported between Write access at twice(float *, int)+0x70 in program.cu:5"
	echo "=========     and Read access at twice(float *, int)+0x90 in program.cu:6 [4 hazards]"
	echo "========= Warning: Race reported between Read access at twice(float *, int)+0x80 in program.cu:6"
	echo "=========     and Write access at twice(float *, int)+0x60 in program.cu:5 [2 hazards]";;
esac
echo "========= ERROR SUMMARY: 1 error"
} > "$log"
`,
}

// withFakeToolkit installs the toolkit and returns a function that runs check on a program with it: its
// output, its messages, and its exit code.
func withFakeToolkit(t *testing.T) (file string, run func(flags ...string) (text, said string, code int)) {
	t.Helper()
	bin := t.TempDir()
	for name, text := range fakeToolkit {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	file = checkFile(t, with(""))
	return file, func(flags ...string) (string, string, int) {
		var out, messages strings.Builder
		cmd := exec.Command(self, append([]string{"check", "--device", "gpu", file}, flags...)...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader("input\n"), &out, &messages
		_ = cmd.Run()
		return out.String(), messages.String(), cmd.ProcessState.ExitCode()
	}
}

// TestCheckOnGPU: --device gpu builds the program with nvcc, runs it under the four tools, and reports their
// findings in the same form as the emulator's.
func TestCheckOnGPU(t *testing.T) {
	path := os.Getenv("PATH")
	file, run := withFakeToolkit(t)
	text, said, code := run("--", "one", "two")
	for _, want := range []string{
		"one two\ninput\n", "1. access out of bounds\n", "program.cu:6: here",
		"reported by memcheck: Invalid __global__ write", "2. race", "program.cu:5: write\n",
		"program.cu:6: read\n", "   >    6 |",
		"2 findings, on the GPU under memcheck, racecheck, initcheck, synccheck.",
	} {
		if code != 1 || !strings.Contains(text, want) {
			t.Errorf("exit %d, want 1 and %q in\n%s%s", code, want, text, said)
		}
	}
	if text, said, code = run("--json"); code != 1 {
		t.Errorf("--json: exit %d\n%s%s", code, text, said)
	}
	var r check.Report
	if err := json.Unmarshal([]byte(text), &r); err != nil || len(r.Findings) != 2 ||
		r.Findings[0].Kind != check.OutOfBounds || r.Findings[0].Place == nil ||
		r.Findings[0].Place.File != file ||
		r.Findings[0].Kernel != "twice(float *, int)" {
		t.Errorf("--json: %v\n%s", err, text)
	}
	text, said, code = run("-D", "BROKEN")
	if code != 2 || !strings.Contains(said, `program.cu:3: expected a ";"`) {
		t.Errorf("a file that does not compile: exit %d\n%s%s", code, text, said)
	}
	if text, said, code = run("--explain"); code != 2 || !strings.Contains(said, "are for the emulator") {
		t.Errorf("--explain: exit %d\n%s%s", code, text, said)
	}
	t.Setenv("PATH", path)
	t.Setenv("CUDA_HOME", "")
	if _, err := exec.LookPath("compute-sanitizer"); err == nil {
		return
	}
	text, said, code = run()
	if code != 3 || !strings.Contains(said, "check --device gpu: no compute-sanitizer") {
		t.Errorf("without a toolkit: exit %d\n%s%s", code, text, said)
	}
}

// TestEndsOnGPU: the report says how the program ends, and a tool that does not see the end proves nothing.
func TestEndsOnGPU(t *testing.T) {
	_, run := withFakeToolkit(t)
	for line, c := range map[string]struct {
		code int
		says string
	}{
		"-- right clean": {
			0, "Nothing was found, on the GPU under memcheck, racecheck, initcheck, synccheck.",
		},
		"-- right unseen": {
			3, "It did not run to its end (memcheck, racecheck, initcheck, synccheck): whether it is " +
				"right is not known.",
		},
		"-- fails clean":                   {1, "the program says that it failed: exit status 3"},
		"--limit run=500ms -- waits clean": {1, "the program does not end"},
		"--debug":                          {2, "leave out --device gpu"},
	} {
		text, said, code := run(strings.Fields(line)...)
		if code != c.code || !strings.Contains(strings.Join(strings.Fields(text+said), " "), c.says) {
			t.Errorf("%s: exit %d, want %d and %q in\n%s%s", line, code, c.code, c.says, text, said)
		}
	}
}
