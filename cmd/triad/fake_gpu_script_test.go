package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"triad"
	"triad/internal/machine"
	"triad/internal/need"
	"triad/internal/session"
)

// onFakeGPU makes triad see the fake GPU.
func onFakeGPU(a *app, folder string) {
	a.DriverHere = func() bool { return true }
	a.OwnFolder = func() string { return folder }
	a.Passed = append(a.Passed, fakeFolder, fakeMemory, fakeFree, fakeDoes, "GOCOVERDIR")
	a.Rest = func(context.Context, time.Duration) {}
	a.Telemetry = func(string, string) machine.Card {
		c := &fakeCard{}
		for _, b := range behaviours(os.Getenv) {
			c.throttles, c.shared = c.throttles || b.does == "throttles", c.shared || b.does == "shared"
		}
		return c
	}
	a.Files = overlay{fakeCUDA(), a.Files}
}

// fakeCUDA returns the product's Python worker with a stand-in for torch.cuda.
func fakeCUDA() fs.FS {
	worker, err := fs.ReadFile(triad.Files, "pybridge/worker/worker.py")
	if err != nil {
		panic(err)
	}
	const begins = "if __name__ == \"__main__\":\n    main()\n"
	text, ends := strings.CutSuffix(string(worker), begins)
	if !ends {
		panic("pybridge/worker/worker.py does not end with " + begins)
	}
	text += fmt.Sprintf("if __name__ == \"__main__\":\n    sys.path.append(%q)\n    import fake_cuda\n    "+
		"main(fake_cuda.of(Worker))\n", os.Getenv(fakePython))
	return fstest.MapFS{"pybridge/worker/worker.py": {Data: []byte(text)}}
}

// fakeMachine puts the files of a fake GPU into a folder, and returns the environment of a machine with it.
func fakeMachine(folder string) (map[string]string, error) {
	for name, text := range map[string]string{
		"triad-cuda": "#!/bin/sh\nexec triad-fake-gpu \"$@\"\n",
		"nvcc":       "#!/bin/sh\necho Cuda compilation tools, release 13.0, V13.0.88\n",
		"compute-sanitizer": `#!/bin/sh
[ "$1" = --version ] && { echo Version 2025.3.1; exit; }
tool=$2; log=$(echo "$4" | sed "s/%p/$$/"); shift 8
"$@"
[ -e "` + folder + `/report-$tool" ] && cp "` + folder + `/report-$tool" "$log"
exit 0
`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
			return nil, err
		}
	}
	files, err := filepath.Abs("testdata")
	return map[string]string{
		fakeFolder: folder, fakeMemory: "16000000", fakePython: filepath.Join(files, "gpu"), "FILES": files,
		"TRIAD_PYTHON": os.Getenv("TRIAD_TEST_PYTHON"),
		// of the processes that scripts start; go test removes GOCOVERDIR itself
		"GOCOVERDIR": os.Getenv("TRIAD_TEST_COVER"),
	}, err
}

// TestFakeGPU runs the scripts of testdata/gpu on the fake GPU.
func TestFakeGPU(t *testing.T) {
	p := scripts(t, "testdata/gpu")
	home := p.Setup
	p.Setup = func(e *testscript.Env) error {
		folder := filepath.Join(e.WorkDir, "gpu")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		machine, err := fakeMachine(folder)
		for name, value := range machine {
			e.Setenv(name, value)
		}
		e.Setenv("PATH", folder+string(filepath.ListSeparator)+e.Getenv("PATH"))
		return errors.Join(err, home(e))
	}
	testscript.Run(t, p)
}

// onMachine runs triad on a machine with the fake GPU and returns its output and exit code.
func onMachine(t *testing.T, overlay string, args ...string) (string, int) {
	t.Helper()
	folder := t.TempDir()
	machine, err := fakeMachine(folder)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("triad", append(args, "--db", filepath.Join(folder, "r.db"))...)
	cmd.Env = append(os.Environ(), "TRIAD_TEST_OVERLAY="+overlay, "XDG_DATA_HOME="+folder, "PATH="+folder+
		string(filepath.ListSeparator)+os.Getenv("PATH"))
	for name, value := range machine {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}

// noPanic checks that a wrong kernel got a verdict, and that triad ended regularly.
func noPanic(t *testing.T, text string, code int) {
	t.Helper()
	if code != int(session.ExitBad) || strings.Contains(text, "internal error") ||
		strings.Contains(text, "goroutine ") || !strings.Contains(text, "Exit 1: something is wrong") {
		t.Errorf("exit %d, want 1 with a verdict\n%s", code, text)
	}
}

// TestFakeGPUWrongFiles: every wrong file of a user gets a verdict on a GPU, with the smallest case that
// shows it: none passes, none makes triad panic. A race shows only in the emulator's schedule orders: on a
// GPU it may pass.
func TestFakeGPUWrongFiles(t *testing.T) {
	need.Tool(t, "g++")
	tried := 0
	for _, c := range readOwnCases(t) {
		if exitOf(c.Status) != 1 || c.Status == "RACE" || strings.HasSuffix(c.File, ".py") {
			continue
		}
		if text, err := os.ReadFile(filepath.Join("testdata", "own", c.File)); err != nil ||
			strings.Contains(string(text), "#include <thrust/") || strings.Contains(string(text), "wb.h") {
			continue // nvcc has the one, a course the other; the fake GPU has neither
		}
		tried++
		t.Run(c.File, func(t *testing.T) {
			// Forms and verdicts have TestOwnFiles; what counts here is how a wrong call ends on a GPU.
			key := "a user's kernel with wrong results"
			if strings.Contains(c.Status, "CRASH") {
				key = "a user's kernel that crashes"
			}
			need.Covers(t, key, slices.Concat(need.UserFiles, need.Timing, []string{
				"cmd/triad/testdata/own/" + c.File,
			})...)
			text, code := onMachine(t, "", append([]string{
				"compare", c.Operator, "--impl", "mine", "--quick",
				"--device", "gpu", "--add", filepath.Join("testdata", "own", c.File),
			}, c.Flags...)...)
			// what only the emulator sees may end the process there, under a guessed interpretation
			open := strings.Contains(c.Status, "NOT_UNDERSTOOD") || c.Status == "OUT_OF_BOUNDS"
			if code != int(session.ExitNothing) || !open {
				noPanic(t, text, code)
			}
			lines := statusOfAFile.FindAllStringSubmatch(text, -1) // of every function of the file
			if !slices.ContainsFunc(lines, func(line []string) bool { return line[1] != "PASS" }) {
				t.Errorf("%v\n%s", lines, text)
			}
		})
	}
	wrong := readPlanted[planted](t, "wrong")
	for _, name := range byBytes(t, slices.Collect(maps.Keys(wrong))) {
		bugs := wrong[name]
		tried++
		t.Run("wrong/"+name, func(t *testing.T) {
			need.Covers(t, "a kernel of ours", slices.Concat(need.Timing, []string{
				"cmd/triad/testdata/wrong/" + name + ".cu",
			})...)
			files := map[string]string{"cuda/kernels/" + name + ".cu": "wrong/" + name + ".cu"}
			text, code := onMachine(t, plant(t, files), "compare", name, "--quick", "--dtype", bugs.DTypes[0],
				"--impl", "cuda", "--device", "gpu")
			noPanic(t, text, code)
		})
	}
	if tried < 20 {
		t.Errorf("%d wrong files", tried)
	}
}

// byBytes sorts operators by the size of their file of planted bugs: the first represents them, and the
// smallest takes the least time.
func byBytes(t *testing.T, names []string) []string {
	t.Helper()
	bytes := map[string]int64{}
	for _, name := range names {
		info, err := os.Stat(filepath.Join("testdata", "wrong", name+".cu"))
		if err != nil {
			t.Fatal(err)
		}
		bytes[name] = info.Size()
	}
	return slices.SortedFunc(slices.Values(names), func(a, b string) int {
		return cmp.Or(cmp.Compare(bytes[a], bytes[b]), strings.Compare(a, b))
	})
}
