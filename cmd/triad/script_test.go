package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"triad"
	"triad/internal/machine"
	"triad/internal/need"
	"triad/pybridge"
)

// TestMain lets scripts run triad itself: this binary under another name, so that it can start itself as a
// worker.
func TestMain(m *testing.M) {
	testscript.Main(withPython{m}, map[string]func(){
		"triad": func() {
			a := newApp(os.Stdin, os.Stdout, os.Stderr)
			if dir := os.Getenv("TRIAD_TEST_OVERLAY"); dir != "" {
				a.Files, a.Passed = overlay{os.DirFS(dir), triad.Files}, []string{"TRIAD_TEST_OVERLAY"}
			}
			if free, err := strconv.ParseUint(os.Getenv("TRIAD_TEST_FREE"), 10, 64); err == nil {
				a.Space = func(string) (uint64, error) { return free, nil }
			}
			if folder := os.Getenv(fakeFolder); folder != "" {
				onFakeGPU(a, folder)
			}
			if python := os.Getenv(lentParent); python != "" {
				unix.CloseOnExec(3)
				a.Parent = pybridge.BorrowParent(os.NewFile(3, "parent of workers"), python)
			}
			os.Exit(int(a.execute(os.Args[1:])))
		},
		"triad-fake-gpu":    serveFakeGPU,
		"triad-missing-gpu": serveMissingGPU,
	})
}

// withPython looks for an interpreter with torch before the tests run, and passes it on in TRIAD_TEST_PYTHON:
// the one that triad itself would use, made first where the tests may set it up. Without one the tests that
// need it are skipped.
type withPython struct{ m *testing.M }

func (w withPython) Run() int {
	if os.Getenv("TRIAD_TEST_PYTHON") == "" {
		path, err := pythonForTests()
		if err != nil {
			fmt.Fprintln(os.Stderr, "the tests of Python rows:", err)
			if need.SetUp() {
				return 1
			}
		}
		os.Setenv("TRIAD_TEST_PYTHON", path)
	}
	code := w.m.Run()
	if err := parent.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

// testPython returns the interpreter with torch and Triton that withPython found.
func testPython(t testing.TB) string {
	t.Helper()
	path := os.Getenv("TRIAD_TEST_PYTHON")
	if path == "" {
		need.Missing(t, "no Python with torch and Triton: triad setup makes one")
	}
	return path
}

func pythonForTests() (string, error) {
	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	setUp := need.SetUp()
	e, err := a.Environment(machine.EnvironmentFlags{Yes: true, Offline: !setUp}, false)
	if err != nil {
		return "", err
	}
	find := e.Find
	if setUp {
		find = e.Ensure
	}
	i, err := find(context.Background())
	return i.Path, err
}

// overlay shows the files of above where they exist, else those of below: a script plants its own kernels
// over the product's.
type overlay struct{ above, below fs.FS }

func (o overlay) Open(name string) (fs.File, error) {
	if f, err := o.above.Open(name); err == nil {
		if info, err := f.Stat(); err == nil && !info.IsDir() {
			return f, nil
		}
		f.Close()
	}
	return o.below.Open(name)
}

// TestScript runs the scripts of testdata/script. The fast tier leaves out dearScripts.
func TestScript(t *testing.T) {
	p := scripts(t, "testdata/script")
	stories, err := filepath.Glob(filepath.Join(p.Dir, "*.txtar"))
	if err != nil || len(stories) < 20 {
		t.Fatalf("%d stories, %v", len(stories), err)
	}
	p.Dir = ""
	for _, file := range stories {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		inputs, dear := dearScripts[name]
		inputs = append(inputs, "cmd/triad/"+file)
		if !dear || need.Chosen(t, name, "", inputs...) {
			p.Files = append(p.Files, file)
			continue
		}
		t.Run(name, func(t *testing.T) { need.Covers(t, "", inputs...) }) // says that it is left out
	}
	testscript.Run(t, p)
}

// dearScripts lists the inputs of the scripts that only the long tier runs.
var dearScripts = map[string][]string{
	"build":         {"cuda/build", "internal/run"},
	"faults_cuda":   {"internal/run", "internal/worker", "internal/subprocess", "cuda/serve"},
	"faults_python": {"internal/run", "internal/worker", "internal/subprocess", "pybridge"},
	"import":        {"internal/problem", "internal/submission", "pybridge/problems/problem_describe.py"},
	"import_choices": {
		"internal/problem", "pybridge/truth/bounded_choices.py",
		"pybridge/problems/problem_describe_tensara.py", "pybridge/problems/problem_describe_function.py",
	},
	"import_solve": {
		"internal/problem", "internal/ownfile", "pybridge/problems/problem_describe_leetgpu.py",
		"pybridge/problems/problem_describe_function.py",
	},
	"import_weights": {
		"internal/problem", "pybridge/truth/bounded_linear.py", "pybridge/problems/problem_recipes.py",
	},
	"no_tools":   {"cmd/triad", "internal/machine", "cuda/build/compiler.go", "pybridge"},
	"own_faults": {"internal/ownkernels", "internal/advice", "internal/worker"},
	"resume":     {"internal/run", "internal/session", "results"},
	"slurm":      {"internal/fleet", "internal/fleetrun", "cmd/triad", "results"},
	"torch_rows": {"pybridge", "triton", "requirements.txt"},
}

// scripts returns the scripts of a folder, with the commands and conditions of all.
func scripts(t *testing.T, dir string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		WorkdirRoot:         steadyFolder(t, "scripts-"+filepath.Base(dir)),
		RequireExplicitExec: true,
		Setup: func(e *testscript.Env) error {
			// A separate home, but the libraries that were built once: a script tests triad, not g++.
			e.Setenv("HOME", e.WorkDir)
			e.Setenv("XDG_DATA_HOME", filepath.Join(e.WorkDir, "data"))
			e.Setenv("XDG_CACHE_HOME", sharedCache(t))
			e.Setenv("SHARED_CACHE", sharedCache(t))
			e.Setenv("TRIAD_TEST_PYTHON", os.Getenv("TRIAD_TEST_PYTHON"))
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":  exits,
			"only":   only,
			"repeat": repeat,
			"take":   take,
			"until":  until,
			"within": within,
		},
		Condition: func(name string) (bool, error) {
			here := false
			switch name {
			case "g++", "python3": // on the tests' PATH, not the script's
				_, err := exec.LookPath(name)
				here = err == nil
			case "python":
				here = os.Getenv("TRIAD_TEST_PYTHON") != ""
			default:
				return false, errors.New("unknown condition " + name)
			}
			if !here && need.All() {
				return false, fmt.Errorf("no %s: install it, since TRIAD_TEST_ALL says that this machine "+
					"has everything", name)
			}
			return here, nil
		},
	}
}

// only TOOL...: from here on the PATH holds triad and these tools, and nothing else.
func only(ts *testscript.TestScript, neg bool, args []string) {
	bin, err := os.MkdirTemp(ts.Getenv("WORK"), "bin")
	ts.Check(err)
	ts.Setenv("PATH", bin)
	for _, name := range append(args, "triad") {
		path, err := exec.LookPath(name)
		ts.Check(err)
		if name == "python3" { // it may be a script that searches the PATH for the real one
			itself, err := exec.Command(path, "-c", "import sys; print(sys.executable)").Output()
			ts.Check(err)
			path = strings.TrimSpace(string(itself))
		}
		if name == "g++" {
			ts.Setenv("PATH", bin+string(filepath.ListSeparator)+alone(ts, path))
			continue
		}
		ts.Check(os.Symlink(path, filepath.Join(bin, name)))
	}
	ts.Setenv("VIRTUAL_ENV", "")
}

// alone returns a folder that holds only this compiler, the same for every script and every run of them:
// builds are kept by the path of the compiler too.
func alone(ts *testscript.TestScript, compiler string) string {
	folder := filepath.Join(ts.Getenv("SHARED_CACHE"), "triad-tests", "compiler")
	ts.Check(os.MkdirAll(folder, 0o755))
	link := filepath.Join(folder, filepath.Base(compiler))
	if target, err := os.Readlink(link); err == nil && target == compiler {
		return folder
	}
	made := filepath.Join(folder, filepath.Base(ts.Getenv("WORK")))
	ts.Check(os.Symlink(compiler, made))
	ts.Check(os.Rename(made, link))
	return folder
}

// take NAME PATTERN sets a variable to what the pattern's group finds in the last stdout.
func take(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: take NAME PATTERN")
	}
	found := regexp.MustCompile(`(?m)` + args[1]).FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("stdout has no %q with one group", args[1])
	}
	ts.Setenv(args[0], found[1])
}

// repeat ID ARGUMENT... runs the command that triad results show prints for a run, with more arguments.
func repeat(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: repeat ID ARGUMENT...")
	}
	ts.Check(ts.Exec("triad", "results", "show", args[0]))
	lines := strings.Split(strings.TrimSpace(ts.ReadFile("stdout")), "\n")
	command := strings.Fields(lines[len(lines)-1])
	if command[0] != "triad" {
		ts.Fatalf("the last line of results show is %q, want a triad command", lines[len(lines)-1])
	}
	_ = ts.Exec("triad", append(command[1:], args[1:]...)...) // what it finds may be bad: stdout says
}

// until DURATION PATTERN COMMAND... runs a command again and again, until its stdout matches.
func until(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: until DURATION PATTERN COMMAND...")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if ts.Exec(args[2], args[3:]...) == nil &&
			regexp.MustCompile(`(?m)`+args[1]).MatchString(ts.ReadFile("stdout")) {
			return
		}
		if time.Since(began) > limit {
			ts.Fatalf("no stdout that matches %q within %v", args[1], limit)
		}
	}
}

// within DURATION COMMAND...: the script's command must not take longer.
func within(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 || args[1] != "exits" {
		ts.Fatalf("usage: within DURATION exits CODE COMMAND...")
	}
	limit, err := time.ParseDuration(args[0])
	ts.Check(err)
	began := time.Now()
	exits(ts, false, args[2:])
	if took := time.Since(began); took > limit {
		ts.Fatalf("it took %v, want at most %v", took, limit)
	}
}

func sharedCache(t *testing.T) string {
	base, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return base
}

// exits N COMMAND...: the command must end with exit code N.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("exit code %d, want %d", got, want)
	}
}
