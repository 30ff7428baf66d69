package truth_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
	"triad/internal/truth"
	"triad/internal/truth/truthtest"
)

var update = flag.Bool("update", false,
	"write testdata/version.txt, which a changed constant or error bound may do under a new version alone")

// books is the file that holds every constant and error bound of the version it names.
const books = "testdata/version.txt"

// judging are the files with deciding constants.
var judging = []string{
	"../judge/*.go", "../truth/*.go", "../truth/formula/*.go", "../truth/product/*.go",
	"../truth/attention/*.go", "../truth/fp8/*.go", "../truth/latent/*.go", "../truth/rownorm/*.go",
	"../truth/sparse/*.go",
	"../catalog/*/*.go",
}

// notJudging are constants that decide nothing: the division of work, the length of messages, the proof of
// the truth.
var notJudging = []string{
	"judge.chunk", "judge.strip", "judge.glance", "judge.worstKept", "judge.blocksKept", "judge.mostly",
	"judge.nearly",
	"rownorm.rowBlock", "rownorm.stripe", "softmax.appendedColumns", "attention.mostParts",
	"attention.tileQueries", "product.signedColumns", "sparse.mostParts",
	"truth.StepTolerance", "truth.stepSize", "truth.randomDirections", "truth.singleElements",
	"truth.DifferenceTolerance", "truth.FlatRow",
	"formula.Unknown", "formula.erfSeries",
}

// TestVersionNamesTheErrorBounds: judge.Version stands for every constant and for the truth and error bound
// of every operator, pass, dtype and contract on fixed cases. A difference from testdata/version.txt requires
// a new version with a line in the history of docs/judge.md. Under the same version, -update adds what is
// missing and computes nothing else.
func TestVersionNamesTheErrorBounds(t *testing.T) {
	now := constantsNow(t)
	version, written := readBooks(t)
	var known map[string]string
	if *update && version == judge.Version {
		known = written
	}
	maps.Copy(now, errorBoundsNow(t, known))
	var changed, added []string
	for name, was := range written {
		if is, ok := now[name]; !ok || !sameEntry(was, is) {
			changed = append(changed, fmt.Sprintf("%s\n\twas %s\n\tis  %s", name, was, is))
		}
	}
	for name := range now {
		if _, ok := written[name]; !ok {
			added = append(added, name)
		}
	}
	slices.Sort(changed)
	slices.Sort(added)
	if *update && (len(changed) == 0 || version != judge.Version) {
		writeBooks(t, now)
		return
	}
	const how = "go test ./internal/truth -run TestVersionNames -update"
	if len(changed) > 0 {
		t.Errorf("%d constants or error bounds are not those of version %s. Set judge.Version to %q, add it "+
			"to versions in internal/judge/rejudge.go and to the history in docs/judge.md, and run %s:\n%s",
			len(changed), version, after(version), how, strings.Join(changed[:min(len(changed), 12)], "\n"))
	} else if version != judge.Version {
		t.Errorf("judge.Version is %q, and no constant or error bound differs from version %q: want that, "+
			"or a change", judge.Version, version)
	}
	if len(added) > 0 {
		t.Errorf("not in %s yet: %s. Run %s", books, strings.Join(added, "; "), how)
	}
}

// after returns the version that follows one.
func after(version string) string {
	n, err := strconv.Atoi(version)
	if err != nil {
		return "1"
	}
	return strconv.Itoa(n + 1)
}

// TestVersionHasAHistory: the current version has its line in docs/judge.md, the first of the table.
func TestVersionHasAHistory(t *testing.T) {
	text, err := os.ReadFile("../../docs/judge.md")
	if err != nil {
		t.Fatal(err)
	}
	_, history, _ := strings.Cut(string(text), "\n## Versions\n")
	lines := regexp.MustCompile(`(?m)^\| ([0-9]+) \| ([0-9-]{10}) \| (.+) \|$`).FindAllStringSubmatch(history,
		-1)
	if len(lines) == 0 || lines[0][1] != judge.Version {
		t.Errorf("docs/judge.md: the table under Versions begins with %.1q: want version %s, its date and "+
			"what changed", lines, judge.Version)
	}
}

// TestVersionSeesAChange: a changed constant, an error bound that is a millionth larger in one element of
// ten, and a missing one are detected.
func TestVersionSeesAChange(t *testing.T) {
	truth := versionTruth(t)
	var before, later figures
	before.add(truth)
	for i := 0; i < len(truth.Outputs[0].T); i += 10 {
		truth.Outputs[0].T[i] *= 1 + 1e-6
	}
	later.add(truth)
	if was, is := before.String(), later.String(); sameEntry(was, is) || !sameEntry(was, was) {
		t.Errorf("a changed error bound is not seen:\n%s\n%s", was, is)
	}
	if sameEntry("24.0", "12.0") || sameEntry("n 5, T 1.5", "n 6, T 1.5") || sameEntry("1.5", "") {
		t.Error("a changed constant or count is not seen")
	}
}

func versionTruth(t *testing.T) judge.Truth {
	o, err := truth.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: "fp32"}, map[string]int64{
		"rows": 90,
		"cols": 33,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return truthtest.TruthFor(t, c, "fp32", truthtest.CaseInputs(t, o.Spec, c, 1))
}

func readBooks(t *testing.T) (version string, entries map[string]string) {
	t.Helper()
	text, err := os.ReadFile(books)
	if err != nil && !*update {
		t.Fatal(err)
	}
	entries = map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " = ")
		if name == "version" {
			version = value
			continue
		}
		entries[name] = value
	}
	return version, entries
}

func writeBooks(t *testing.T, entries map[string]string) {
	t.Helper()
	text := "version = " + judge.Version + "\n"
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		text += name + " = " + entries[name] + "\n"
	}
	if err := os.MkdirAll(filepath.Dir(books), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(books, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sameEntry compares two entries word by word, numbers with a point as fp64 sums whose last digits depend on
// the machine.
func sameEntry(a, b string) bool {
	as, bs := strings.Fields(a), strings.Fields(b)
	return slices.EqualFunc(as, bs, func(x, y string) bool {
		if x == y {
			return true
		}
		p, errP := strconv.ParseFloat(strings.Trim(x, ","), 64)
		q, errQ := strconv.ParseFloat(strings.Trim(y, ","), 64)
		return errP == nil && errQ == nil && strings.Contains(x, ".") && math.Abs(p-q) <= 1e-9*math.Abs(p)
	})
}

// constantsNow returns the numeric constants of the judge, of the shared truth code and of the operators,
// from their source.
func constantsNow(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range judging {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			set := token.NewFileSet()
			parsed, err := parser.ParseFile(set, file, text, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(parsed, func(n ast.Node) bool {
				declared, ok := n.(*ast.GenDecl)
				if !ok || declared.Tok != token.CONST {
					return true
				}
				for _, spec := range declared.Specs {
					s := spec.(*ast.ValueSpec)
					for i, name := range s.Names {
						if i >= len(s.Values) {
							continue
						}
						from, to := set.Position(s.Values[i].Pos()), set.Position(s.Values[i].End())
						value := string(text[from.Offset:to.Offset])
						full := filepath.Base(filepath.Dir(file)) + "." + name.Name
						if !strings.HasPrefix(value, `"`) {
							found["constant "+full] = value
						}
					}
				}
				return true
			})
		}
	}
	for _, name := range notJudging {
		if found["constant "+name] == "" {
			t.Errorf("the constant %s is named, and is not there", name)
		}
		delete(found, "constant "+name)
	}
	for _, name := range []string{
		"judge.KappaPromoted", "judge.sumLambda", "judge.rmsFactor", "judge.Signs", "judge.rowTile",
		"truth.TailRows", "fp8_gemm.scaleBlock", "swiglu.overflowed",
	} {
		if found["constant "+name] == "" {
			t.Errorf("the constant %s was not found", name)
		}
	}
	return found
}

// versionDistributions cover the cases of the error bounds: plain data, sums of equal terms, exact ones,
// large and small magnitudes.
var versionDistributions = []string{
	"normal", "scaled", "constant", "sparse", "integers",
	"outlier", "row_offsets",
}

// errorBoundsNow returns figures of every operator, pass, dtype and contract, over fixed cases, whole and by
// sample. Those that are known are returned as they are.
func errorBoundsNow(t *testing.T, known map[string]string) map[string]string {
	t.Helper()
	all, found := map[string]*figures{}, map[string]string{}
	for _, o := range truth.All() {
		for _, c := range versionCases(t, o.Spec) {
			var in []tensor.Tensor
			for _, k := range contracts(t) {
				if k.Name != o.Spec.DefaultContract(c.DType) && !o.Spec.Permits(c.DType, k.Name) {
					continue
				}
				name := strings.Join(strings.Fields(fmt.Sprint("allowance ", c.Op, " ", c.Pass, " ", c.Saved,
					" ", c.DType, " ", k.Name)), " ")
				if known[name] != "" {
					found[name] = known[name]
					continue
				}
				if all[name] == nil {
					all[name] = &figures{}
				}
				if in == nil {
					in = truthtest.CaseInputs(t, o.Spec, c, 1)
				}
				all[name].add(truthtest.TruthFor(t, c, k.Name, in))
				if c.Distribution == "normal" {
					all[name].addSample(t, c, k.Name, in)
				}
			}
		}
	}
	for name, f := range all {
		found[name] = f.String()
	}
	return found
}

// versionCases returns the cases of one shape of an operator: every pass, dtype, distribution of the list,
// and value of an enumerated attribute.
func versionCases(t *testing.T, spec *op.Spec) []op.Case {
	t.Helper()
	dims := spec.Check.Truth.Sampled
	var cases []op.Case
	for _, pass := range spec.Passes() {
		saved := []string{""}
		if pass == op.Backward && spec.Backward.Chained {
			saved = []string{"driver", "own"}
		}
		for _, from := range saved {
			for _, dtype := range spec.PassDTypes(pass) {
				for _, d := range versionDistributions {
					for _, attributes := range wordsOf(spec) {
						if !slices.Contains(spec.Check.Distributions, d) {
							continue
						}
						c, err := spec.NewCase(op.Case{
							Pass: pass, DType: dtype, Distribution: d,
							Saved: from,
						}, dims, pinned(spec, d, attributes))
						if err != nil {
							t.Fatal(err)
						}
						cases = append(cases, c)
					}
				}
			}
		}
	}
	return cases
}

// pinned returns attributes, with those that a distribution pins.
func pinned(spec *op.Spec, distribution string, attributes map[string]string) map[string]string {
	all := map[string]string{}
	for name, v := range spec.Check.Pins[distribution] {
		all[name] = fmt.Sprint(v)
	}
	maps.Copy(all, attributes)
	return all
}

// wordsOf returns the values of all attributes that are words, each against the defaults of the others.
func wordsOf(spec *op.Spec) []map[string]string {
	sets := []map[string]string{nil}
	for _, a := range spec.Attributes {
		values := a.Values
		if a.Type == "bool" {
			values = []string{"false", "true"}
		}
		for _, v := range values {
			sets = append(sets, map[string]string{a.Name: v})
		}
	}
	return sets
}

// figures are sums over the elements of some outputs that change with any error bound, simulated value or
// requirement. They add logarithms, so that small elements count as much as large ones.
type figures struct {
	outputs, elements, exact, independent, zeros int
	truth, allowed, allowedFP32, simulated       float64
	limits, sums                                 float64
}

func (f *figures) add(truth judge.Truth) {
	for i, v := range truthtest.Judged(truth, truthtest.Sims(truth)...) {
		target := truth.Outputs[i]
		f.outputs++
		f.elements += len(target.R)
		if target.Exact {
			f.exact++
		}
		if target.Independent {
			f.independent++
			f.limits += magnitude(v.RMS.Limit)
		}
		for j, r := range target.R {
			allowed, weight := target.T[j], float64(1+j%5)
			if allowed == 0 {
				f.zeros++
			}
			// What cancels to a rounding error of fp64 depends on the machine; next to T it does not show.
			f.truth += weight * magnitude(math.Abs(r)+allowed)
			f.simulated += weight * magnitude(math.Abs(target.Sim[j])+allowed)
			f.allowed += weight * magnitude(allowed)
			f.allowedFP32 += weight * magnitude(target.TFP32[j])
			if !target.DType.IsFloat() {
				low, high := target.Interval(r, allowed)
				f.limits += weight * magnitude(1+high-low)
			}
		}
	}
}

// addSample adds the bounds of the sums that cover the rest of a sample.
func (f *figures) addSample(t *testing.T, c op.Case, contract string, in []tensor.Tensor) {
	t.Helper()
	truth, err := truth.Of(c, contract, in, &truth.Sample{Rows: 3, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range truth.Outputs {
		f.elements += len(target.R)
		if target.Freivalds == nil {
			continue
		}
		for _, a := range target.Freivalds.ErrorBound {
			f.sums += magnitude(a)
		}
	}
}

// magnitude returns the logarithm of a number, 0 of one that has none.
func magnitude(x float64) float64 {
	if x > 0 && !math.IsInf(x, 0) {
		return math.Log2(x)
	}
	return 0
}

func (f *figures) String() string {
	text := fmt.Sprintf("outputs %d, elements %d, exact %d, independent %d, T 0 %d", f.outputs, f.elements,
		f.exact, f.independent, f.zeros)
	for _, part := range []struct {
		name  string
		value float64
	}{
		{"R", f.truth},
		{"T", f.allowed},
		{"TFP32", f.allowedFP32},
		{"sim", f.simulated},
		{"limits", f.limits},
		{"sums", f.sums},
	} {
		text += fmt.Sprintf(", %s %.11e", part.name, part.value)
	}
	return text
}
