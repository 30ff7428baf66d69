package compare

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"triad"
	"triad/cmd/triad/worker"
	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/console"
	"triad/internal/ladder"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/rownames"
	"triad/internal/run"
	"triad/internal/watched"
)

// forOneArchitecture is the beginning of the names of variants that the emulator runs with the instructions
// of one architecture: a user's kernel is not compared with them.
const forOneArchitecture = "cuda/sm"

// caseToCount returns the case that most variants of the operator take, the largest of those of moderate
// size, and the variants that are right on it. Attributes have their defaults where there is such a case:
// kernels of users often take these alone.
func caseToCount(t *testing.T, spec *op.Spec, request run.Request, kernels backend.Backend) (op.Case,
	[]string,
) {
	t.Helper()
	spread := rownames.Spread(triad.Files, spec.Name, nil)
	onAnyGPU := func(impl string) bool {
		return !strings.HasPrefix(impl, forOneArchitecture) && !slices.Contains(spread, impl)
	}
	request.Keep = func(c op.Case, impl string) bool {
		return elementsOf(t, spec, c) <= watched.MostElements && onAnyGPU(impl)
	}
	result, err := run.Unrecorded(t.Context(), t.Context(), kernels, request, false)
	if err != nil {
		t.Fatal(err)
	}
	right, cases := map[string][]string{}, map[string]op.Case{}
	for _, r := range result.Records {
		if r.Status.Weight() == op.Good && onAnyGPU(r.Impl) {
			right[r.Case.Key()], cases[r.Case.Key()] = append(right[r.Case.Key()], r.Impl), r.Case
		}
	}
	keys := slices.Collect(maps.Keys(right))
	if len(keys) == 0 {
		return op.Case{}, nil
	}
	slices.SortFunc(keys, func(a, b string) int {
		return cmp.Or(otherAttributes(spec, cases[a])-otherAttributes(spec, cases[b]),
			len(right[b])-len(right[a]), cmp.Compare(elementsOf(t, spec, cases[b]), elementsOf(t, spec,
				cases[a])), cmp.Compare(a, b))
	})
	return cases[keys[0]], right[keys[0]]
}

// otherAttributes counts the attributes of a case that do not have their defaults.
func otherAttributes(spec *op.Spec, c op.Case) (n int) {
	for _, a := range spec.Attributes {
		if a.Default != nil && a.Type != "float" && fmt.Sprint(a.Default) != c.Attrs.Text(a.Name) {
			n++
		}
	}
	return n
}

// elementsOf returns the number of elements of the inputs of a case, or of its outputs where those are more:
// a product of few terms has large ones.
func elementsOf(t *testing.T, spec *op.Spec, c op.Case) int64 {
	t.Helper()
	inputs, err := spec.Inputs(c)
	if err != nil {
		t.Fatal(err)
	}
	outputs, err := spec.Outputs(c)
	if err != nil {
		t.Fatal(err)
	}
	sum := func(all []op.TensorType) (n int64) {
		for _, i := range all {
			n += i.Elements()
		}
		return n
	}
	return max(sum(inputs), sum(outputs))
}

// ladderOf returns a ladder without variants.
func ladderOf(t *testing.T, spec *op.Spec, c op.Case) ladder.Ladder {
	t.Helper()
	l := ladder.Ladder{DType: c.DType, Dims: map[string]int64{}, Attributes: map[string]string{}}
	for _, d := range spec.Dims {
		if _, constant := constantSize(d); d.Default == "" || constant {
			l.Dims[d.Name] = c.Dims.Get(d.Name)
		}
	}
	for _, a := range spec.Attributes {
		if a.Type != "float" {
			l.Attributes[a.Name] = c.Attrs.Text(a.Name)
		}
	}
	inputs, err := spec.Inputs(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range inputs {
		l.InputBytes += i.Elements() * i.DType.Size()
	}
	if len(inputs) == 1 {
		l.Input = inputs[0].Name
	}
	outputs, err := spec.Outputs(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outputs {
		l.OutputBytes += o.Elements() * o.DType.Size()
	}
	return l
}

// constantSize returns the default of a dim that is a number. Where a dim is not named, each of its values in
// the operator's shapes is taken.
func constantSize(d op.DimSpec) (n int64, constant bool) {
	n, err := strconv.ParseInt(d.Default, 10, 64)
	return n, err == nil
}

func recordOf(c op.Case) record.Record { return record.Record{Case: c} }

// published holds the time of a published record.
type published struct {
	Op, Pass, DType, Impl string
	Dims                  map[string]int64
	Timing                *struct {
		Regime, Status string
		MedianNS       float64 `json:"median_ns"`
	}
}

// publishedTimes returns the cold times of the published sessions, by operator and pass.
func publishedTimes(t *testing.T) map[string][]published {
	t.Helper()
	files, err := filepath.Glob(publishedAt)
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %v", files, err)
	}
	all := map[string][]published{}
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 64<<20)
		for lines.Scan() && !strings.HasSuffix(file, ".sessions.jsonl") {
			var p published
			if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			if p.Timing != nil && p.Timing.Regime == "cold" && p.Timing.Status == "PASS" {
				all[p.Op+" "+p.Pass] = append(all[p.Op+" "+p.Pass], p)
			}
		}
		f.Close()
	}
	return all
}

var rowOfHead = regexp.MustCompile(`^//   (\w+)\s{2,}(.*)`)

// whatItDoes returns what the head of an operator's kernel file says of a variant, in about 60 characters.
// What it says of the forward, as in "forward: a thread an element", is not said of a backward.
func whatItDoes(t *testing.T, name, pass, impl string) string {
	t.Helper()
	text, err := fs.ReadFile(triad.Files, "cuda/kernels/"+name+".cu")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if m := rowOfHead.FindStringSubmatch(strings.TrimSpace(line)); m != nil && "cuda/"+m[1] == impl {
			what := m[2]
			of, words, _ := strings.Cut(what, ": ")
			switch word, _, _ := strings.Cut(of, " "); {
			case word == op.Forward.String() && pass != word:
				return ""
			case word == op.Forward.String(), word == op.Backward.String(), strings.Contains(of, " = "):
				what = words
			}
			if i := strings.IndexAny(what, ";:"); i > 0 {
				what = what[:i]
			}
			what, _, _ = strings.Cut(what, ". ")
			parts := strings.Split(what, ", ")
			for len(parts) > 1 && len(strings.Join(parts, ", ")) > 60 {
				parts = parts[:len(parts)-1]
			}
			return strings.TrimRight(strings.Join(parts, ", "), " ,.")
		}
	}
	return ""
}

// withTimes adds the published times of the case on which most variants of the ladder were timed; of several,
// the one with the most elements.
func withTimes(l ladder.Ladder, all []published) ladder.Ladder {
	variant := func(impl string) int {
		return slices.IndexFunc(l.Variants, func(r ladder.Variant) bool { return r.Impl == impl })
	}
	groups := map[string][]published{}
	score := func(key string) (n int) {
		for _, p := range groups[key] {
			if variant(p.Impl) >= 0 {
				n++
			}
		}
		return n
	}
	for _, p := range all {
		key := fmt.Sprint(p.DType, " ", p.Dims)
		groups[key] = append(groups[key], p)
	}
	best := ""
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		if best == "" || score(key) > score(best) ||
			score(key) == score(best) && size(groups[key][0]) == 8192*8192 && size(
				groups[best][0]) != 8192*8192 {
			best = key
		}
	}
	l.GPU, l.BenchDType, l.BenchSizes, l.Others = "", "", "", nil
	for i := range l.Variants {
		l.Variants[i].MedianNS = 0
	}
	if best == "" || score(best) == 0 {
		return l
	}
	l.GPU, l.BenchDType, l.BenchSizes = "H200", groups[best][0].DType, sizesOf(groups[best][0])
	for _, p := range groups[best] {
		ns := p.Timing.MedianNS
		if i := variant(p.Impl); i >= 0 {
			l.Variants[i].MedianNS = ns
		} else if !slices.ContainsFunc(l.Others, func(o ladder.Other) bool { return o.Impl == p.Impl }) {
			l.Others = append(l.Others, ladder.Other{Impl: p.Impl, MedianNS: ns})
		}
	}
	slices.SortFunc(l.Others, func(a, b ladder.Other) int { return strings.Compare(a.Impl, b.Impl) })
	return l
}

func size(p published) int64 {
	n := int64(1)
	for _, d := range p.Dims {
		n *= d
	}
	return n
}

// sizesOf returns the sizes of a published case: those of the spec's order.
func sizesOf(p published) string {
	o, err := catalog.Get(p.Op)
	if err != nil {
		return ""
	}
	var words []string
	for _, d := range o.Spec.Dims {
		words = append(words, fmt.Sprint(p.Dims[d.Name]))
	}
	return strings.Join(words, " x ")
}

// TestMain lets the test program be the worker of the CUDA kernels too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		cmd := worker.Command(console.New(os.Stdin, os.Stdout, os.Stderr))
		cmd.SetArgs(os.Args[2:])
		if cmd.Execute() != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}
