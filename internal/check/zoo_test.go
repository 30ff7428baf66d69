package check

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"triad"
	"triad/cuda/build"
	"triad/cuda/program"
	"triad/internal/need"
)

// zoo is the folder of programs with planted bugs. A line with a bug has the comment BUG(kind); with FIXED
// defined there is none.
const zoo = "../../cuda/emulator/testdata/check"

var planted = regexp.MustCompile(`BUG\(([a-z-]+)\)`)

// checked builds a program and runs it in all orders.
func checked(t *testing.T, file string, limit time.Duration, define ...string) (*Report, string) {
	t.Helper()
	return checkedBy(t, builder(t), file, limit, define...)
}

// checkedBy is like checked, with the given builder.
func checkedBy(t *testing.T, b *build.Builder, file string, limit time.Duration, define ...string) (
	*Report, string,
) {
	t.Helper()
	var output strings.Builder
	built, err := program.Build(context.Background(), b, program.Source{File: file, Define: define})
	if err != nil {
		t.Fatal(err)
	}
	q := requestOf(built)
	q.Limit, q.Stall, q.Budget, q.Output = limit, 5*time.Second, 2*limit, &output
	r, err := Run(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	return r, output.String()
}

// builtOf builds a program and returns the request to run it.
func builtOf(t *testing.T, source program.Source) Request {
	t.Helper()
	built, err := program.Build(context.Background(), builder(t), source)
	if err != nil {
		t.Fatal(err)
	}
	return requestOf(built)
}

// builder returns a builder with this machine's compiler.
func builder(t *testing.T) *build.Builder {
	t.Helper()
	need.Tool(t, "g++")
	compiler, err := build.FindHostCompiler(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return &build.Builder{
		Sources: triad.Files, Cache: filepath.Join(cache, "triad", "cuda"), Compiler: compiler,
	}
}

func requestOf(built program.Program) Request {
	return Request{
		Program: built.Path, Output: io.Discard, ReturnsEarly: built.ReturnsEarly,
		Locate: func(ctx context.Context, offsets []uint64) (map[uint64]Place, error) {
			lines, err := program.Lines(ctx, built.Path, built.Files, offsets)
			places := map[uint64]Place{}
			for at, line := range lines {
				places[at] = Place{File: line.File, Line: line.Line}
			}
			return places, err
		},
	}
}

// bugs returns the kinds and lines that a program's comments name.
func bugs(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for i, line := range strings.Split(string(text), "\n") {
		for _, m := range planted.FindAllStringSubmatch(line, -1) {
			all = append(all, fmt.Sprintf("%s at line %d", m[1], i+1))
		}
	}
	return all
}

// sides returns a finding's kind with each of its lines.
func sides(f Finding) []string {
	var all []string
	for _, at := range []*Place{f.Place, f.Other} {
		if at.known() {
			all = append(all, fmt.Sprintf("%s at line %d", f.Kind, at.Line))
		}
	}
	return all
}

// documented lists the programs of the zoo that docs/check.md shows.
var documented = []string{
	"race_tree_reduction", "bounds_tail", "uninitialised_shared", "deadlock_shuffle", "managed_too_early",
}

// witnesses lists the programs of the zoo that run every time.
var witnesses = append(slices.Clone(documented), "race_last_block", "misaligned_vector",
	"device_pointer_on_host")

// zooFiles lists the programs of the zoo, the witnesses first, so that each represents its kind.
func zooFiles(t *testing.T) []string {
	t.Helper()
	var files []string
	for _, name := range witnesses {
		files = append(files, filepath.Join(zoo, name+".cu"))
	}
	for _, file := range programsIn(t, zoo) {
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	if len(files) < 40 {
		t.Fatalf("%d programs: want at least 40", len(files))
	}
	return files
}

// covers selects a program. A change to the emulator or to this package concerns every program.
func covers(t *testing.T, file, key string) {
	t.Helper()
	need.Covers(t, key, slices.Concat(need.Emulator, need.Programs, inputOf(file))...)
}

// inputOf returns a program's path from the module's root.
func inputOf(file string) []string { return []string{strings.TrimPrefix(file, "../../")} }

// kindsOf returns the kinds of a program's planted bugs.
func kindsOf(t *testing.T, file string) string {
	t.Helper()
	var kinds []string
	for _, bug := range bugs(t, file) {
		kind, _, _ := strings.Cut(bug, " at line ")
		if !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) == 0 {
		t.Fatalf("no line of %s says BUG(kind)", file)
	}
	return strings.Join(kinds, " and ")
}

// reports caches the reports of the programs with their bugs, which two tests need.
var reports sync.Map

// reportOnce returns the report of a program of the zoo, computed once.
func reportOnce(t *testing.T, file string) *Report {
	t.Helper()
	shared, _ := reports.LoadOrStore(file, &onceReport{})
	once := shared.(*onceReport)
	once.Lock()
	defer once.Unlock()
	if once.made == nil {
		once.made, _ = checked(t, file, time.Minute)
	}
	return once.made
}

type onceReport struct {
	sync.Mutex
	made *Report
}

// TestZoo: every planted bug is found at its line, with nothing else. The fast tier runs one program for each
// kind of finding.
func TestZoo(t *testing.T) {
	for _, file := range zooFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".cu"), func(t *testing.T) {
			covers(t, file, kindsOf(t, file))
			t.Parallel()
			found(t, reportOnce(t, file), bugs(t, file))
		})
	}
}

// accusable lists the kinds of which a correct program is most easily accused: each needs a history of
// accesses or arrivals.
var accusable = []Kind{Race, Uninitialised, Divergence, OutOfBounds}

// TestFixedVersions: every program of the zoo is silent in every schedule once its bug is fixed. The fast
// tier runs one twin for each of the kinds that are most prone to false alarms.
func TestFixedVersions(t *testing.T) {
	for _, file := range zooFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".cu"), func(t *testing.T) {
			key := kindsOf(t, file)
			if !slices.Contains(accusable, Kind(key)) {
				key = ""
			}
			covers(t, file, key)
			t.Parallel()
			silent(t, builder(t), file, "FIXED")
		})
	}
}

// found fails if a program's planted bugs are not found, or anything else is.
func found(t *testing.T, r *Report, want []string) {
	t.Helper()
	if len(r.Findings) == 0 {
		t.Errorf("nothing was found, want %v", want)
	}
	for _, f := range r.Findings {
		if f.Kind == OrderDependent && strings.HasPrefix(want[0], string(OrderDependent)) {
			continue // the output has no line of the source
		}
		at := func(side string) bool { return slices.Contains(want, side) }
		if !slices.ContainsFunc(sides(f), at) {
			t.Errorf("found %v (%s), want %v", sides(f), f.Sentence(), want)
		}
		if (f.Kind == Race || f.Kind == Divergence && len(want) > 1) && len(sides(f)) != 2 {
			t.Errorf("%s has lines %v, want both", f.Sentence(), sides(f))
		}
	}
}

// silent fails if anything is found in a program, or if it does not run in every order.
func silent(t *testing.T, b *build.Builder, file string, define ...string) {
	t.Helper()
	r, _ := checkedBy(t, b, file, time.Minute, define...)
	for _, f := range r.Findings {
		t.Errorf("%s %v: %v %s", filepath.Base(file), define, sides(f), f.Sentence())
	}
	if len(r.Orders) != len(Orders) {
		t.Errorf("%s %v ran in %v, want %v", filepath.Base(file), define, r.Orders, Orders)
	}
}

// Every kind that the emulator or this package can name has an explanation, and the zoo plants most of them.
func TestKindsAreExplained(t *testing.T) {
	for _, kind := range Kinds {
		if _, explained := abouts[kind]; explained == (sanitizerAbouts[kind].title != "") {
			t.Errorf("%s is explained never or twice", kind)
		}
		if a := kind.about(); a.title == "" || a.means == "" || a.mend == "" {
			t.Errorf("%s has no explanation", kind)
		}
	}
	sources, err := filepath.Glob("../../cuda/emulator/*.cc")
	sources = slices.DeleteFunc(sources, func(name string) bool { // its output is part of a report
		return filepath.Base(name) == "sanitized.cc"
	})
	if err != nil || len(sources) == 0 {
		t.Fatal(len(sources), err)
	}
	named := regexp.MustCompile(`Finding(?: \w+)?\((?:[^"()]*\? )?"([a-z-]+)"(?: : "([a-z-]+)")?\)`)
	found := 0
	for _, source := range sources {
		text, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range named.FindAllStringSubmatch(string(text), -1) {
			for _, kind := range m[1:] {
				if kind == "" {
					continue
				}
				found++
				if !slices.Contains(Kinds, Kind(kind)) {
					t.Errorf(
						"%s writes findings of kind %s, which has no explanation",
						filepath.Base(source),
						kind,
					)
				}
			}
		}
	}
	if found < 15 {
		t.Errorf("%d kinds in the emulator's sources, want at least 15", found)
	}
}

// A report shows both lines of a race, the threads and accesses, and how to fix it.
func TestTextOfARace(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.cu")
	if err := os.WriteFile(file, []byte("one\ntwo\nthree\nfour\nfive\nsix\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	value := int64(0x3f800000)
	r := &Report{Orders: Orders, Findings: []Finding{{
		Kind: Race, Kernel: "k", Scope: "block", Access: "read", Bytes: 4, Value: &value,
		Place: &Place{File: file, Line: 4}, Other: &Place{File: file, Line: 2}, OtherAccess: "write",
		Block: &[3]int{1, 0, 0}, Thread: &[3]int{5, 0, 0}, OtherBlock: &[3]int{1, 0, 0},
		OtherThread: &[3]int{
			37,
			0,
			0,
		}, Memory: "shared memory", Byte: 20, MemoryBytes: 512, Orders: Orders[:1],
	}}}
	var b strings.Builder
	if err := Write(&b, r, filepath.Dir(file), true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"1. race: two threads of one block use shared memory at the same time\n",
		"   a.cu:4: read of 4 bytes by thread (5,0,0) of block (1,0,0)\n",
		"   a.cu:2: write before by thread (37,0,0) of block (1,0,0)\n",
		"byte 20 of shared memory of 512 bytes", "0x3f800000 (int 1065353216, float 1)",
		"seen in order forward, not in the other 5", "   >    2 | two\n        3 | three\n   >    4 | four\n",
		"__syncthreads()", "1 finding, in 6 schedule orders: forward",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
}

// Two outputs are the same if their numbers differ by rounding alone.
func TestSameOutput(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"sum 1.000001\n", "sum 1.000002\n", true},
		{"sum 1.0\n", "sum 1.1\n", false},
		{"7\n", "8\n", false},
		{"a b\n", "a\n", false},
		{"x=1.5,\n", "x=1.5,\n", true},
		{"100000\n", "100001\n", false},
		{"nan\n", "1.0\n", false},
	} {
		if got := sameOutput([]byte(c.a), []byte(c.b)); got != c.same {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
	}
}

// A line that was cut off when the program was killed is dropped; the ones before it count.
func TestFindingsOfAKilledProgram(t *testing.T) {
	all, foreign, err := readFindings(
		strings.NewReader(`K {"kind":"race","other_offset":16}`+"\n"+`K {"kind":"ra`), "K")
	if err != nil || foreign != 0 || len(all) != 1 || all[0].Other == nil || all[0].Other.Offset != 16 {
		t.Errorf("%+v, %d, %v", all, foreign, err)
	}
}

var _ io.Writer = (*capped)(nil)

// A program that prints endlessly costs no memory.
func TestOutputIsCapped(t *testing.T) {
	c := &capped{most: 5}
	for range 3 {
		if n, err := c.Write([]byte("abc")); n != 3 || err != nil {
			t.Fatal(n, err)
		}
	}
	if text, beyond := c.taken(); string(text) != "abcab" || !beyond {
		t.Errorf("%q %v", text, beyond)
	}
}
