package need

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// The environment selects the cases of a run. Without any of these variables it is the fast tier.
const (
	tierVariable = "TRIAD_TEST_TIER" // "long": every case
	dayVariable  = "TRIAD_TEST_DAY"  // a number: the long tier's share of that day too
	// a file with a changed path on each line, "." for all: cases with such an input run too
	changedVariable = "TRIAD_TEST_CHANGED"
)

// The long tier rotates: a run with a day selects one case in week of those of Covers, and one in seldom
// times as many of those of Long, which cost more. A suite in partsTable rotates in more parts than week, so
// that no day has to run more of it than a run can afford.
const (
	week   = 7
	seldom = 7
	// a folder from the module's root, a suite in it and its number of parts on each line
	partsTable = ".ci/parts"
)

// Inputs that suites share, as paths from the module's root: a case runs again when a file at or below one of
// them changed.
var (
	// Judge decides verdicts.
	Judge = []string{
		"internal/judge", "internal/truth", "internal/op", "internal/workload", "internal/tensor",
	}
	// Emulator runs CUDA without a GPU.
	Emulator = []string{"cuda/emulator", "cuda/rewrite", "cuda/runtime", "cuda/abi.h", "cuda/build/flags.go"}
	// Kernels builds kernel files and calls what they hold, on the emulator and with nvcc.
	Kernels = []string{
		"cuda/abi.h", "cuda/build/asynchronous_variants.go", "cuda/build/build.go",
		"cuda/build/compiler.go", "cuda/build/flags.go", "cuda/build/nvcc.go",
		"cuda/build/precompiled_header.go", "cuda/build/sources.go", "cuda/build/spec_header.go",
		"cuda/serve/call.go", "cuda/serve/library.go",
	}
	// Programs checks CUDA programs.
	Programs = []string{"internal/check"}
	// Python runs Triton and torch without a GPU.
	Python = []string{"pybridge", "requirements.txt"}
	// UserFiles reads and calls a user's file.
	UserFiles = []string{
		"internal/ownfile", "internal/ownkernels", "internal/shrink", "internal/advice",
	}
	// Timing is code that only a GPU reaches, or the fake GPU of the tests.
	Timing = []string{
		"internal/timing", "cuda/gpuworker", "cuda/serve/measure.go", "cuda/serve/measure_finish.go",
		"cuda/serve/measure_graph.go", "cuda/serve/measure_sets.go", "cuda/serve/runtime.go",
	}
)

// Operator returns the folders and files of an operator, as inputs.
func Operator(name string) []string {
	return []string{
		"internal/catalog/" + name, "cuda/kernels/" + name + ".cu", "cuda/kernels/" + name,
		"triton/" + name + ".py", "triton/" + name + "_cutile.py",
	}
}

// tier selects the cases to run.
type tier struct {
	long    bool
	day     int // -1 for none
	changed []string
	root    string         // of the module
	folder  string         // of the package under test, from the root
	parts   map[string]int // of the suites of this folder that rotate in more than week
	broken  error          // an invalid setting of the environment

	mu        sync.Mutex
	witnesses map[string]string // by suite and key
}

var current = sync.OnceValue(func() *tier { return tierOf(os.Getenv) })

func tierOf(env func(string) string) *tier {
	t := &tier{day: -1, witnesses: map[string]string{}}
	switch name := env(tierVariable); name {
	case "", "fast":
	case "long":
		t.long = true
	default:
		t.broken = fmt.Errorf("%s=%s: want fast or long", tierVariable, name)
	}
	if text := env(dayVariable); text != "" {
		day, err := strconv.Atoi(text)
		if err != nil || day < 0 {
			t.broken = fmt.Errorf("%s=%s: want a number from 0", dayVariable, text)
		}
		t.day = day
	}
	if path := env(changedVariable); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			t.broken = fmt.Errorf("%s: %w", changedVariable, err)
		}
		t.changed = strings.Split(strings.TrimSpace(string(text)), "\n")
	}
	t.root, t.folder = here()
	if t.day >= 0 {
		var err error
		if t.parts, err = partsOf(filepath.Join(t.root, partsTable), t.folder); err != nil {
			t.broken = err
		}
	}
	return t
}

// partsOf reads the parts of a folder's suites from the table, whose comments begin with #.
func partsOf(table, folder string) (map[string]int, error) {
	text, err := os.ReadFile(table)
	if err != nil {
		return nil, fmt.Errorf("the parts in which suites rotate: %w", err)
	}
	parts := map[string]int{}
	for i, line := range strings.Split(string(text), "\n") {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) == 0 {
			continue
		}
		n := 0
		if len(words) == 3 {
			n, _ = strconv.Atoi(words[2])
		}
		if n <= week {
			return nil, fmt.Errorf("%s:%d: want a folder, a suite and a number above %d", table, i+1, week)
		}
		if words[0] == folder {
			parts[words[1]] = n
		}
	}
	return parts, nil
}

// rotation returns in how many parts the cases of a suite rotate.
func (t *tier) rotation(suite string) int { return max(week, t.parts[suite]) }

// Root returns the module's root, of a test that go test has started in it.
func Root() string {
	root, _ := here()
	return root
}

// here returns the module's root and the folder of the package under test in it. go test starts a test there.
func here() (root, folder string) {
	start, err := os.Getwd()
	if err != nil {
		return "", ""
	}
	for root = start; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			folder, _ = filepath.Rel(root, start)
			return root, filepath.ToSlash(folder)
		}
		if root == filepath.Dir(root) {
			return start, "."
		}
	}
}

// why reports whether a case runs, and the reason. The suite is the test that the case belongs to.
func (t *tier) why(suite, name, key string, rotation int, inputs []string) (reason string, runs bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	witness := suite + "\x00" + key
	first, taken := t.witnesses[witness]
	if key != "" && (!taken || first == name) {
		t.witnesses[witness] = name
		return fmt.Sprintf("the first of %q", key), true
	}
	if t.long {
		return "the long tier", true
	}
	for _, path := range t.changed {
		if slices.ContainsFunc(inputs, func(input string) bool {
			return path == "." || within(path, input)
		}) {
			return path + " changed", true
		}
	}
	if t.day >= 0 && int(share(t.folder+" "+name)%uint32(rotation)) == t.day%rotation {
		return fmt.Sprintf("the share of day %d", t.day), true
	}
	if key == "" {
		return "it is in no fast tier", false
	}
	return fmt.Sprintf("%s covers %q", first, key), false
}

// within reports whether a path is an input or lies below it. A folder testdata inside an input counts only
// for the cases that name it.
func within(path, input string) bool {
	rest, found := strings.CutPrefix(path, strings.TrimSuffix(input, "/"))
	return found && (rest == "" || rest[0] == '/' && !strings.Contains(rest, "/testdata/"))
}

// share returns the same number for the same case on every machine.
func share(name string) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	return h.Sum32()
}

// callersFile returns the calling test file, from the module's root: it is an input of its cases.
func (t *tier) callersFile() string {
	_, file, _, _ := runtime.Caller(2)
	return t.folder + "/" + filepath.Base(file)
}

// long begins the reason of a case that this tier leaves out.
const long = "the long tier runs it"

// Covers skips a case, a subtest, of a suite that costs too much to run whole every time. The key names the
// part of the product that the case covers: a form, a kind of bug, an operator. The fast tier runs the first
// case of each key of a top-level test. A continuous integration run adds the cases whose inputs changed
// (paths from the module's root; the test file itself always counts) and the day's share, a seventh or what
// partsTable says; the long tier runs all. A case with an empty key is never in the fast tier. Call it before
// t.Parallel.
func Covers(t testing.TB, key string, inputs ...string) {
	t.Helper()
	c := current()
	inputs = append(inputs, c.callersFile())
	c.ask(t, key, inputs)
}

// Long skips a test or a case that no fast tier can afford, as Covers does with an empty key; its turn comes
// seven times less often. why says what takes the time.
func Long(t testing.TB, why string, inputs ...string) {
	t.Helper()
	c := current()
	inputs = append(inputs, c.callersFile())
	if c.broken != nil {
		t.Fatal(c.broken)
	}
	suite, _, _ := strings.Cut(t.Name(), "/")
	reason, runs := c.why("", t.Name(), "", seldom*c.rotation(suite), inputs)
	if !runs {
		t.Skipf("%s: %s", long, why)
	}
	t.Logf("runs: %s", reason)
}

func (t *tier) ask(tb testing.TB, key string, inputs []string) {
	tb.Helper()
	if t.broken != nil {
		tb.Fatal(t.broken)
	}
	name := tb.Name()
	suite, _, _ := strings.Cut(name, "/")
	reason, runs := t.why(suite, name, key, t.rotation(suite), inputs)
	if !runs {
		tb.Skipf("%s: %s", long, reason)
	}
	tb.Logf("runs: %s", reason)
}

// Chosen is Covers for a case that is no subtest, because there are thousands of them: it reports whether the
// case of this name runs.
func Chosen(t testing.TB, name, key string, inputs ...string) bool {
	t.Helper()
	c := current()
	if c.broken != nil {
		t.Fatal(c.broken)
	}
	suite, _, _ := strings.Cut(t.Name(), "/")
	_, runs := c.why(suite, t.Name()+"/"+name, key, c.rotation(suite), append(inputs,
		c.callersFile()))
	return runs
}

// IsLongTier reports whether every case runs: for a test whose one case grows with the tier.
func IsLongTier() bool { return current().long }

// IsLong reports whether a test was skipped because its tier leaves it out.
func IsLong(reason string) bool { return strings.HasPrefix(reason, long) }
