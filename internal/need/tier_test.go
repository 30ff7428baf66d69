package need

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// planned returns the tier of these environment variables.
func planned(t *testing.T, variables map[string]string) *tier {
	t.Helper()
	got := tierOf(func(name string) string { return variables[name] })
	if got.broken != nil {
		t.Fatal(got.broken)
	}
	return got
}

// chosen returns the names of the cases that run, of pairs of a name and its key.
func chosen(p *tier, cases [][2]string, inputs ...string) []string {
	var names []string
	for _, c := range cases {
		if _, runs := p.why("TestX", "TestX/"+c[0], c[1], week, inputs); runs {
			names = append(names, c[0])
		}
	}
	return names
}

var forms = [][2]string{{"a", "solve"}, {"b", "solve"}, {"c", "lone kernel"}, {"d", ""}, {"e", "lone kernel"}}

// The fast tier runs the first case of each key and none without a key; the long tier runs all.
func TestTheFirstOfEachKeyRuns(t *testing.T) {
	if got := chosen(planned(t, nil), forms); !slices.Equal(got, []string{"a", "c"}) {
		t.Errorf("the fast tier runs %v", got)
	}
	long := planned(t, map[string]string{tierVariable: "long"})
	if got := chosen(long, forms); len(got) != len(forms) {
		t.Errorf("the long tier runs %v", got)
	}
	p := planned(t, nil)
	if again := append(chosen(p, forms), chosen(p, forms)...); len(again) != 4 {
		t.Errorf("go test -count=2 runs %v", again)
	}
}

// A case runs when a file at or below one of its inputs changed, but not when a file with a longer name did,
// or test data below.
func TestChangedInputsRun(t *testing.T) {
	for changed, want := range map[string]int{
		"internal/judge/judge.go": 5, "internal/judge": 5, "internal/judgement/x.go": 2,
		"README.md": 2, ".": 5,
		"README.md\ninternal/judge/rule.go\n": 5, "": 2, "internal/judge/testdata/a.txt": 2,
	} {
		path := filepath.Join(t.TempDir(), "changed")
		if err := os.WriteFile(path, []byte(changed), 0o644); err != nil {
			t.Fatal(err)
		}
		p := planned(t, map[string]string{changedVariable: path})
		if got := chosen(p, forms, "internal/judge"); len(got) != want {
			t.Errorf("after a change of %q %v run, want %d", changed, got, want)
		}
	}
}

// Every case has its day in a rotation; no day is without cases.
func TestEveryCaseHasItsDay(t *testing.T) {
	for _, rotation := range []int{week, 11, seldom * week} {
		seen := map[string]int{}
		for day := range rotation {
			p := planned(t, map[string]string{dayVariable: fmt.Sprint(20000 + day)})
			before := len(seen)
			for i := range 2000 {
				name := fmt.Sprintf("TestX/case %d", i)
				if _, runs := p.why("TestX", name, "", rotation, nil); runs {
					seen[name]++
				}
			}
			if len(seen) == before {
				t.Errorf("day %d of %d runs nothing", day, rotation)
			}
		}
		for name, days := range seen {
			if days != 1 {
				t.Errorf("%s runs on %d of %d days", name, days, rotation)
			}
		}
		if len(seen) != 2000 {
			t.Errorf("%d of 2000 cases run in %d days", len(seen), rotation)
		}
	}
}

// The table of parts names suites that there are, with more parts than every suite has, and each once.
func TestPartsNameSuites(t *testing.T) {
	root, _ := here()
	text, err := os.ReadFile(filepath.Join(root, partsTable))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		if len(words) != 3 || words[0] == "#" {
			continue
		}
		folder, suite := words[0], words[1]
		parts, err := partsOf(filepath.Join(root, partsTable), folder)
		if err != nil || parts[suite] <= week {
			t.Errorf("%s %s: %v, %v", folder, suite, parts, err)
		}
		if seen[folder+suite] {
			t.Errorf("%s %s is there twice", folder, suite)
		}
		seen[folder+suite] = true
		if !strings.HasPrefix(suite, "Test") { // a suite in Python
			continue
		}
		declared := false
		files, _ := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
		for _, file := range files {
			text, err := os.ReadFile(file)
			declared = declared || err == nil && strings.Contains(string(text), "\nfunc "+suite+"(")
		}
		if !declared {
			t.Errorf("%s has no %s", folder, suite)
		}
	}
	if len(seen) == 0 {
		t.Error("no suite is read")
	}
}

// A table with less than a seventh, or with a line that is cut off, is an error.
func TestABrokenTableOfPartsIsAnError(t *testing.T) {
	table := filepath.Join(t.TempDir(), "parts")
	for text, want := range map[string]int{
		"# words\n\ncuda TestX 21 # seconds\ncuda/build TestX 35\n": 21,
		"cuda TestX 7\n": 0, "cuda TestX\n": 0, "cuda TestX many\n": 0, "cuda TestX 21 35\n": 0,
	} {
		if err := os.WriteFile(table, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		parts, err := partsOf(table, "cuda")
		if parts["TestX"] != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %v, %v", text, parts, err)
		}
	}
}

// An unreadable setting is an error, never a tier with fewer cases.
func TestABrokenTierIsAnError(t *testing.T) {
	for name, value := range map[string]string{
		tierVariable: "lang", dayVariable: "monday", changedVariable: filepath.Join(t.TempDir(), "missing"),
	} {
		got := tierOf(func(n string) string { return map[string]string{name: value}[n] })
		if got.broken == nil || !strings.Contains(got.broken.Error(), name) {
			t.Errorf("%s=%s gives %v", name, value, got.broken)
		}
	}
}

// A renamed folder would silently drop its cases.
func TestInputsAreThere(t *testing.T) {
	root, folder := here()
	if folder != "internal/need" {
		t.Errorf("the package under test is %q", folder)
	}
	for _, input := range slices.Concat(Judge, Emulator, Kernels, Programs, Python, UserFiles, Timing) {
		if _, err := os.Stat(filepath.Join(root, input)); err != nil {
			t.Error(err)
		}
	}
}

// The reason of a skipped case names the case that covers its key.
func TestASkippedCaseNamesItsWitness(t *testing.T) {
	p := planned(t, nil)
	p.why("TestX", "TestX/a", "solve", week, nil)
	if reason, runs := p.why("TestX", "TestX/b", "solve", week, nil); runs ||
		reason != `TestX/a covers "solve"` {
		t.Errorf("%v %q", runs, reason)
	}
}

// Covers and Long, within one process.
func TestCoversSkips(t *testing.T) {
	ran := map[string]bool{}
	for _, c := range forms {
		t.Run(c[0], func(t *testing.T) {
			Covers(t, c[1], "no/such/file")
			ran[c[0]] = true
		})
	}
	for _, name := range []string{"a", "c"} {
		if !ran[name] {
			t.Errorf("%s did not run", name)
		}
	}
}
