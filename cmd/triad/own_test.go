package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"triad/internal/machine"
	"triad/internal/need"
	"triad/pybridge"
)

// ownCases lists the files of testdata/own, as users write them: the command for each and the expected
// result.
type ownCases struct {
	Cases []ownCase
}

type ownCase struct {
	File, Operator string
	Flags          []string // what the signature does not say
	Status         string   // a regular expression: of every line in the table
	Says           string   // a regular expression over what is printed
}

// readOwnCases reads the table, which names every file of the folder.
func readOwnCases(t *testing.T) []ownCase {
	t.Helper()
	text, err := os.ReadFile("testdata/own/cases.toml")
	if err != nil {
		t.Fatal(err)
	}
	var all ownCases
	if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&all); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir("testdata/own")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		of := func(c ownCase) bool {
			return c.File == f.Name() || f.IsDir() && strings.HasPrefix(c.File, f.Name()+"/")
		}
		if f.Name() != "cases.toml" && !slices.ContainsFunc(all.Cases, of) {
			t.Errorf("%s is not in the table", f.Name())
		}
	}
	return all.Cases
}

// lentParent is the environment variable with the Python of the process that forks the workers of Python
// files; descriptor 3 asks it.
const lentParent = "TRIAD_TEST_PARENT"

// parent is that process.
var parent pybridge.Parent

// lend starts the process once for all commands of the tests: each would import torch for two seconds.
// TestFoldersOfBeginners has triad start its own.
var lend = sync.OnceValues(func() (*os.File, error) {
	python := os.Getenv("TRIAD_TEST_PYTHON")
	a := newApp(os.Stdin, os.Stdout, os.Stderr)
	e, err := a.Environment(machine.EnvironmentFlags{Yes: true, Offline: true}, false)
	if err != nil {
		return nil, err
	}
	cache, err := a.CacheDir()
	if err != nil {
		return nil, err
	}
	return parent.Lend(e, cache, python)
})

// runTriad runs triad with its own database and returns its output and exit code.
func runTriad(t *testing.T, args ...string) (string, int) {
	t.Helper()
	self, err := exec.LookPath("triad")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), "XDG_DATA_HOME="+t.TempDir(), "TRIAD_PYTHON="+
		os.Getenv("TRIAD_TEST_PYTHON"))
	python := os.Getenv("TRIAD_TEST_PYTHON")
	ofPython := func(arg string) bool { return strings.Contains(arg, ".py") }
	if python != "" && slices.ContainsFunc(args, ofPython) {
		ask, err := lend()
		if err != nil {
			t.Fatal(err)
		}
		cmd.ExtraFiles, cmd.Env = []*os.File{ask}, append(cmd.Env, lentParent+"="+python)
	}
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(text), exit.ExitCode()
	}
	if err != nil {
		t.Fatalf("%v: %v\n%s", args, err, text)
	}
	return string(text), 0
}

var (
	smallestCase = regexp.MustCompile(`The smallest case found[^\n]*\n\n  ([A-Z_]+) (?:.*\n)+?        ` +
		`triad (compare .*--add .*)\n`)
	// with --verbose after a dtype
	statusOfAFile = regexp.MustCompile(`(?m)^  mine/\S+ +(?:[a-z]\S+ +)?([A-Z_]+)`)
)

// repeats runs the command that is printed with the smallest case: it must find the same.
func repeats(t *testing.T, text string) {
	t.Helper()
	found := smallestCase.FindStringSubmatch(text)
	if found == nil {
		t.Error("no smallest case with the command that repeats it")
		return
	}
	if strings.Contains(found[2], ".py") {
		return // starting Python is expensive, and names nothing else
	}
	again, code := runTriad(t, strings.Fields(found[2])...)
	if line := statusOfAFile.FindStringSubmatch(again); code != 1 || line == nil || line[1] != found[1] {
		t.Errorf("exit %d, want 1 and %s again from %s\n%s", code, found[1], found[2], again)
	}
}

// exitOf returns the exit code of a file that ends with a status.
func exitOf(status string) int {
	switch status {
	case "PASS", "PASS|UNSUPPORTED", "PASS|DIFFERENT_CONTRACT", "PASS|NOT_UNDERSTOOD", "PASS|KNOWN":
		return 0
	case "NOT_UNDERSTOOD", "UNSUPPORTED", "UNAVAILABLE", "DIFFERENT_CONTRACT", "NOT_UNDERSTOOD|UNSUPPORTED":
		return 3
	}
	return 1
}

// staysNeutral expects to be told what to do about a function that raises in each call.
func staysNeutral(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(text, "--add FILE:FUNCTION") {
		t.Error("it does not say what to do")
	}
}

// judged runs a case and compares the output with the expected one.
func (c ownCase) judged(t *testing.T) {
	if strings.HasSuffix(c.File, ".py") {
		testPython(t)
	}
	text, code := runTriad(t, append([]string{
		"compare", c.Operator, "--impl", "mine", "--quick",
		"--verbose", "--device", "cpu",
		"--limit", "readings=3m", "--limit", "cases=10m", // however busy the computer is
		"--add", filepath.Join("testdata", "own", c.File),
	}, c.Flags...)...)
	line := statusOfAFile.FindAllStringSubmatch(text, -1)
	if len(line) == 0 {
		t.Fatalf("no line in the table:\n%s", text)
	}
	want := exitOf(c.Status) // of "FAIL|NOT_UNDERSTOOD" at least one line is FAIL
	if code != want {
		t.Errorf("exit %d, want %d", code, want)
	}
	for _, l := range line {
		if !regexp.MustCompile("^(" + c.Status + ")$").MatchString(l[1]) {
			t.Errorf("status %s, want %s", l[1], c.Status)
		}
	}
	if !regexp.MustCompile(c.Says).MatchString(text) {
		t.Errorf("it does not say %q", c.Says)
	}
	if want == 1 && c.Status != "BUILD_FAIL" { // what does not compile has no case
		repeats(t, text)
	}
	if strings.Contains(text, "it raises in each of these calls") {
		staysNeutral(t, text)
	}
	if t.Failed() {
		t.Log(text)
	}
}

// inputs lists the files that decide this file's verdict.
func (c ownCase) inputs() []string {
	return slices.Concat(need.UserFiles, need.Emulator, need.Judge,
		[]string{"cmd/triad/testdata/own/" + c.File})
}

// forms lists the forms in which files hold a function, each by a pattern of its text. The first match
// counts.
var forms = []struct {
	ending, name string
	text         *regexp.Regexp
}{
	{".cu", "an extension of PyTorch", regexp.MustCompile(`torch/(extension|all|types)\.h`)},
	{".cu", "solve()", regexp.MustCompile(`\bvoid\s+solve\s*\(`)},
	{
		".cu", "a library of NVIDIA's",
		regexp.MustCompile(`#include\s*<(cub/|thrust/|cublas|cooperative_groups)`),
	},
	{".cu", "a launch in main()", regexp.MustCompile(`\bint\s+main\s*\((?s:.*)<<<`)},
	{".cu", "a host function", regexp.MustCompile(`<<<`)},
	{".cu", "a lone kernel", regexp.MustCompile(`__global__`)},
	{".py", "an autograd.Function", regexp.MustCompile(`autograd\.Function`)},
	{".py", "a Triton function", regexp.MustCompile(`@triton\.jit(?s:.*)\w\[`)},
	{".py", "a class of torch's", regexp.MustCompile(`nn\.Module`)},
	{".py", "a torch function", regexp.MustCompile(`import torch`)},
}

// covers returns what of the reading of files the case covers: the form of the file, and its result.
func (c ownCase) covers(t *testing.T) string {
	t.Helper()
	ends := map[int]string{0: "right", 1: "wrong", 3: "open"}[exitOf(c.Status)]
	if strings.Contains(c.File, "/") {
		return "a file of a larger program, " + ends
	}
	text, err := os.ReadFile(filepath.Join("testdata", "own", c.File))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range forms {
		if filepath.Ext(c.File) == f.ending && f.text.Match(text) {
			return f.name + ", " + ends
		}
	}
	return "another form in " + filepath.Ext(c.File)
}

// TestOwnFiles: files as users write them are judged, in most cases with nothing but their signature; no
// wrong one passes, no right one fails.
func TestOwnFiles(t *testing.T) {
	need.Tool(t, "g++")
	plain, cases := 0, readOwnCases(t)
	for _, c := range cases {
		if len(c.Flags) == 0 {
			plain++
		}
		t.Run(strings.Join(append([]string{c.File}, c.Flags...), " "), func(t *testing.T) {
			need.Covers(t, c.covers(t), c.inputs()...)
			c.judged(t)
		})
	}
	if plain*20 < 16*len(cases) {
		t.Errorf("%d of %d files are judged without a flag, want 16 of 20", plain, len(cases))
	}
}
