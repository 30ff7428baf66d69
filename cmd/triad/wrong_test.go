package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/session"
)

// result is a line of triad compare --json, with the fields that these tests use.
type result struct {
	Impl, Variant, DType, Layout, Distribution, Message string
	Pass                                                op.Pass
	Dims                                                map[string]int64
	Attributes                                          map[string]any
	Status                                              op.Status
	Outputs                                             []output
}

type output struct {
	Name, Gate, Message, Pattern string
	Status                       op.Status
	Worst                        *struct{ Index []int64 }
}

// planted describes how the planted bugs of an operator must end: testdata/wrong/OP.toml, next to OP.cu and
// OP.py, which hold them.
type planted struct {
	DTypes            []string
	Forward, Backward map[string]rejection // by implementation
}

// rejection describes how one must end: with this status in at least one case, by this gate where the judge
// rejects it, in these words, at this place, and never with another bad status than that or FAIL.
type rejection struct {
	Status      op.Status // UNKNOWN: any bad one, where what happens is undefined
	Gate, Words string    // regular expressions
	At          string    // a condition over row, col and the dims, where the worst element of a matrix lies
}

// of returns the expected rejections of a pass.
func (p planted) of(pass op.Pass) map[string]rejection {
	if pass == op.Forward {
		return p.Forward
	}
	return p.Backward
}

// readPlanted reads the files OP.toml of a folder of testdata, by operator.
func readPlanted[T any](t *testing.T, folder string) map[string]T {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", folder, "*.toml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in testdata/%s: %v", folder, err)
	}
	all := map[string]T{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var p T
		if err := toml.NewDecoder(bytes.NewReader(text)).DisallowUnknownFields().Decode(&p); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		all[strings.TrimSuffix(filepath.Base(file), ".toml")] = p
	}
	return all
}

// lies reports whether the condition at holds of the place index of a result.
func lies(at string, index []int64, r result) (bool, error) {
	value := func(name string) (int64, bool) {
		if i := slices.Index([]string{"row", "col"}, name); i >= 0 {
			if i >= len(index) {
				return 0, false
			}
			return index[i], true
		}
		size, ok := r.Dims[name]
		return size, ok
	}
	e, err := op.ParseExpression(at, func(name string) bool {
		_, ok := r.Dims[name]
		return ok || name == "row" || name == "col"
	}, false)
	if err != nil {
		return false, err
	}
	holds, err := e.Int(value)
	return err == nil && holds != 0, nil
}

// TestWrongKernels: every kernel with a planted bug is rejected, for its own reason and at the right place;
// the right one passes. The fast tier plants one bug in each pass of each operator's CUDA, and one in Triton.
func TestWrongKernels(t *testing.T) {
	need.Tool(t, "g++")
	operators := readPlanted[planted](t, "wrong")
	for _, name := range slices.Sorted(maps.Keys(operators)) {
		bugs := operators[name]
		t.Run(name, func(t *testing.T) {
			asked := bugs.asked(t, name)
			if len(asked) == 0 {
				return
			}
			records := comparePlanted(t, name, bugs.DTypes, strings.Join(withRight(t, name, asked), ","))
			for _, pass := range []op.Pass{op.Forward, op.Backward} {
				expected := bugs.of(pass)
				for impl, want := range expected {
					if !slices.Contains(asked, impl) {
						continue
					}
					if err := want.holds(of(records, impl, pass)); err != nil {
						t.Errorf("%s/%s %v: %v", name, impl, pass, err)
					}
				}
				checkRest(t, records, pass, expected)
			}
		})
	}
}

// asked returns the implementations with a bug that this tier runs, each as a subtest.
func (p planted) asked(t *testing.T, name string) (impls []string) {
	t.Helper()
	for _, pass := range []op.Pass{op.Forward, op.Backward} {
		for _, impl := range slices.Sorted(maps.Keys(p.of(pass))) {
			t.Run(pass.String()+" "+impl, func(t *testing.T) { // judged in one command with the others
				key := fmt.Sprint(name, " ", pass)
				inputs := slices.Concat(need.Judge, need.Emulator)
				if strings.HasPrefix(impl, "triton/") {
					key, inputs = "Triton", slices.Concat(need.Judge, need.Python)
				}
				need.Covers(t, key, append(inputs, "cmd/triad/testdata/wrong/"+name+".cu",
					"cmd/triad/testdata/wrong/"+name+".py", "cmd/triad/testdata/wrong/"+name+".toml")...)
				if strings.HasPrefix(impl, "triton/") {
					testPython(t)
				}
				if !slices.Contains(impls, impl) {
					impls = append(impls, impl)
				}
			})
		}
	}
	return impls
}

var rightVariant = regexp.MustCompile(`\bright(_\w+)?\b`)

// withRight adds the right variants in the planted files of the same backends.
func withRight(t *testing.T, name string, impls []string) []string {
	t.Helper()
	all := slices.Clone(impls)
	for backend, ending := range map[string]string{"cuda/": ".cu", "triton/": ".py"} {
		if !slices.ContainsFunc(impls, func(impl string) bool { return strings.HasPrefix(impl, backend) }) {
			continue
		}
		text, err := os.ReadFile(filepath.Join("testdata", "wrong", name+ending))
		if err != nil {
			t.Fatal(err)
		}
		for _, variant := range rightVariant.FindAllString(string(text), -1) {
			if !slices.Contains(all, backend+variant) {
				all = append(all, backend+variant)
			}
		}
	}
	return all
}

// checkRest checks that what is not expected to fail is named right and passes.
func checkRest(t *testing.T, records []result, pass op.Pass, expected map[string]rejection) {
	t.Helper()
	passed := map[string]int{}
	for _, r := range records {
		_, wrong := expected[r.Impl]
		if wrong || r.Pass != pass || r.Status == op.StatusMissing {
			continue
		}
		if !strings.HasPrefix(r.Variant, "right") {
			t.Errorf("%s %v is not in the table", r.Impl, pass)
		}
		if r.Status.Weight() == op.Bad {
			t.Errorf("%s %v in %s, %v %s %s: %v %s", r.Impl, pass, r.DType, r.Dims, r.Distribution, r.Layout,
				r.Status, r.Message)
		}
		if r.Status.Weight() == op.Good {
			passed[r.Impl]++
		} else {
			passed[r.Impl] += 0
		}
	}
	for impl, n := range passed {
		if n == 0 {
			t.Errorf("%s %v never passed", impl, pass)
		}
	}
	if len(passed) == 0 && len(expected) > 0 {
		t.Errorf("%v: there is no right variant", pass)
	}
}

func of(records []result, impl string, pass op.Pass) []result {
	var out []result
	for _, r := range records {
		if r.Impl == impl && r.Pass == pass {
			out = append(out, r)
		}
	}
	return out
}

// holds returns an error about what is not as expected in the records of one implementation.
func (want rejection) holds(records []result) error {
	if len(records) == 0 {
		return fmt.Errorf("it was not run")
	}
	found := false
	var seen []string
	for _, r := range records {
		if r.Status.Weight() != op.Bad {
			continue
		}
		if want.Status != op.StatusUnknown && r.Status != want.Status && r.Status != op.StatusFail {
			return fmt.Errorf("it ended %v, want %v: %s", r.Status, want.Status, r.Message)
		}
		explained, err := want.explains(r)
		if err != nil {
			return err
		}
		found = found || (want.Status == op.StatusUnknown || r.Status == want.Status) && explained
		seen = append(seen, fmt.Sprintf("%v %s", r.Status, r.Message))
	}
	if !found {
		return fmt.Errorf("want %v, gate %q, words %q at %q in one of %d cases; got\n\t%s", want.Status,
			want.Gate, want.Words, want.At,
			len(records), strings.Join(seen[:min(len(seen), 4)], "\n\t"))
	}
	return nil
}

func (want rejection) explains(r result) (bool, error) {
	if want.Gate == "" {
		return matched(want.Words, r.Message), nil
	}
	for _, v := range r.Outputs {
		if v.Status.Weight() != op.Bad || !matched(want.Gate, v.Gate) || !matched(want.Words, v.Message) {
			continue
		}
		if want.At == "" {
			return true, nil
		}
		if v.Worst == nil {
			continue
		}
		if there, err := lies(want.At, v.Worst.Index, r); there || err != nil {
			return there, err
		}
	}
	return false, nil
}

func matched(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }

// comparePlanted runs triad with the planted kernels of an operator in place of its own.
func comparePlanted(t *testing.T, name string, dtypes []string, impls string) []result {
	t.Helper()
	files := map[string]string{"cuda/kernels/" + name + ".cu": "wrong/" + name + ".cu", "triton/" + name +
		".py": "wrong/" + name + ".py"}
	return compareOver(t, files, name, "--quick", "--dtype", strings.Join(dtypes, ","), "--impl", impls)
}

// plant copies files of testdata into a folder in place of the product's own, and returns the folder.
func plant(t *testing.T, files map[string]string) string {
	t.Helper()
	overlay := t.TempDir()
	for at, file := range files {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(overlay, filepath.Dir(at)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(overlay, at), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}

// compareOver runs triad compare with files of testdata in place of the product's own, and returns its
// results. Something must be bad.
func compareOver(t *testing.T, files map[string]string, args ...string) []result {
	t.Helper()
	overlay := plant(t, files)
	cmd := exec.Command("triad", append(append([]string{"compare"}, args...), "--json", "--db",
		filepath.Join(t.TempDir(), "r.db"))...)
	cmd.Env = append(os.Environ(), "TRIAD_TEST_OVERLAY="+overlay, "TRIAD_PYTHON="+
		os.Getenv("TRIAD_TEST_PYTHON"))
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != int(session.ExitBad) {
		t.Fatalf("triad compare %v with planted bugs: %v, want exit code 1\n%s%s", args, err, errors.String(),
			out.String())
	}
	var records []result
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		records = append(records, r)
	}
	return records
}
