package compare

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"triad"
	"triad/internal/catalog"
	"triad/internal/console"
	"triad/internal/ladder"
	"triad/internal/machine"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/standing"
	"triad/internal/truth"
	_ "triad/internal/truth/all"
	"triad/internal/watched"
	"triad/internal/worker"
)

const (
	laddersFile = "../../../internal/ladder/ladders.json"
	publishedAt = "../../../results/published/h200/*.jsonl"
)

// counted names the operators that are counted anew, with commas between them; all means every one.
var counted = flag.String("counted", "", "count the CUDA kernels of these operators, and write "+
	"ladders.json anew")

// countedAt gives the sizes at which an operator is counted whose quick cases take the emulator too long.
var countedAt = flag.String("at", "", "count at these sizes, such as m=48,n=48,k=48; else at those of "+
	"before")

// countedSizes returns the sizes at which a ladder is counted; nil: those of a quick case.
func countedSizes(t *testing.T, spec *op.Spec, before ladder.Ladder) map[string]int64 {
	if *countedAt == "" {
		return before.Dims
	}
	sizes := map[string]int64{}
	for _, d := range spec.Dims {
		if n, constant := constantSize(d); constant {
			sizes[d.Name] = n
		}
	}
	for _, word := range strings.Split(*countedAt, ",") {
		name, value, _ := strings.Cut(word, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sizes[name] = n
	}
	return sizes
}

// TestLaddersAreCurrent: ladders.json has the published times, and counts of the kernels as they are.
//
//	go test ./cmd/triad/compare -run TestLaddersAreCurrent -counted softmax,relu
func TestLaddersAreCurrent(t *testing.T) {
	text, err := os.ReadFile(laddersFile)
	if err != nil {
		t.Fatal(err)
	}
	kept := ladder.Ladders{}
	if err := json.Unmarshal(text, &kept); err != nil {
		t.Fatal(err)
	}
	asked := strings.Split(*counted, ",")
	if *counted == "all" {
		asked = catalog.Names()
	}
	for _, name := range asked {
		if name != "" {
			countLadders(t, name, kept)
		}
	}
	times := publishedTimes(t)
	for key, l := range kept {
		name, pass, _ := strings.Cut(key, " ")
		if want := sourcesOf(t, name); l.Sources != want {
			t.Errorf("%s: its kernels are others than those that were counted: go test ./cmd/triad/compare "+
				"-run TestLaddersAreCurrent -counted %s", key, name)
		}
		l.Variants = slices.DeleteFunc(l.Variants, func(r ladder.Variant) bool { return !l.Whole(r.Traffic) })
		l = withTimes(l, times[name+" "+pass])
		for i, r := range l.Variants {
			l.Variants[i].What = whatItDoes(t, name, pass, r.Impl)
		}
		kept[key] = l
	}
	now, err := json.MarshalIndent(kept, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	now = append(now, '\n')
	switch {
	case *counted != "":
		if err := os.WriteFile(laddersFile, now, 0o644); err != nil {
			t.Fatal(err)
		}
	case string(now) != string(text):
		t.Errorf("%s is not what the published times give: run this test with -counted none", laddersFile)
	}
}

// sourcesOf returns the hash of the kernel files of an operator.
func sourcesOf(t *testing.T, name string) string {
	t.Helper()
	h := sha256.New()
	parts, err := fs.Glob(triad.Files, "cuda/kernels/"+name+"/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append([]string{"cuda/kernels/" + name + ".cu"}, parts...) {
		text, err := fs.ReadFile(triad.Files, file)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(h, "%s %d\n%s", path.Base(file), len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// countLadders counts the variants of an operator that are not for one architecture.
func countLadders(t *testing.T, name string, all ladder.Ladders) {
	t.Helper()
	o, err := truth.Get(name)
	if err != nil {
		return // none, which names no operator
	}
	need.Tool(t, "g++")
	verb := New(runsetup.New(machine.New(console.New(strings.NewReader(""), io.Discard, io.Discard))))
	cache, err := verb.CacheDir()
	if err != nil {
		t.Fatal(err)
	}
	kernels := verb.CUDABackend(cache, worker.Options{Limits: worker.DefaultLimits})
	defer kernels.Close()
	calls := watched.NewCalls(verb.ProgramBuilder, watched.Limits{
		Run: time.Minute, Stall: time.Minute, All: time.Minute, Counts: true,
		CountsAlone: true,
	})
	for _, pass := range o.Spec.Passes() {
		request := run.Request{
			Operators: []*truth.Operator{o}, Impls: []string{"cuda"}, Seed: 1, Single: true,
			Options: op.Options{
				Level: op.LevelQuick, DTypes: o.Spec.PassDTypes(pass)[:1], Passes: []op.Pass{pass},
				Distributions: []string{"normal"}, Layouts: []string{"contiguous"}, Device: "cpu",
				Dims: countedSizes(t, o.Spec, all[name+" "+pass.String()]),
			},
		}
		if pass == op.Backward {
			request.Options.Upstreams, request.Options.Saved = []string{"normal"}, []string{"driver"}
		}
		chosen, impls := caseToCount(t, o.Spec, request, kernels)
		if len(impls) == 0 {
			t.Logf("%s %v: no case is right", name, pass)
			continue
		}
		l := ladderOf(t, o.Spec, chosen)
		l.Sources = sourcesOf(t, name)
		for _, impl := range impls {
			base := run.Request{Operators: request.Operators, Impls: []string{impl}, Seed: 1}
			traffic, _, ok := standing.Count(t.Context(), kernels, calls, base, l, recordOf(chosen))
			if !ok {
				t.Logf("%s %v %s: not counted", name, pass, impl)
				continue
			}
			l.Variants = append(l.Variants, ladder.Variant{Impl: impl, Traffic: traffic})
		}
		if len(l.Variants) == 0 {
			t.Logf("%s %v: nothing is counted at %s", name, pass, l.Case())
			continue
		}
		all[name+" "+pass.String()] = l
	}
}
