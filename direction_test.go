package triad_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// referencesOf is the root of another checkout. TestReferences measures it instead of this one.
var referencesOf = flag.String("references-of", ".", "the checkout whose references TestReferences -v counts")

// layers are the files of internal/run: a file refers to its own layer and to those before it. A plan knows
// nothing of how it is executed, and a verdict nothing of how an outcome came about.
var layers = [][]string{
	{"doc", "run", "result", "statistics", "busy_time"},
	{
		"plan", "plan_entries", "plan_configured", "plan_jobs", "plan_launches", "plan_relations",
		"plan_timed", "plan_altered", "ordinary_memory", "shard", "unavailable",
	},
	{"prepared_case"},
	{"verdict", "finding_match", "documented_findings", "power"},
	{
		"abandoned_passes", "altered_call", "attempt", "bench", "case_queue", "cases_in_flight",
		"compare_timed", "configurations", "declined_calls", "differences", "emulator_twins", "execute",
		"gradients", "job", "known_calls", "memory", "next_case", "prepare", "relations", "stop",
		"survey", "time", "unrecorded",
	},
}

// TestDirection: plan, preparation, verdict and execution refer to each other in one direction. With -v it
// prints the number of pairs of files.
func TestDirection(t *testing.T) {
	layer := map[string]int{}
	for i, files := range layers {
		for _, name := range files {
			layer[name+".go"] = i
		}
	}
	of := readReferences(t, "internal/run")
	for _, name := range of.files {
		if _, known := layer[name]; !known {
			t.Errorf("%s is in no layer of direction_test.go", name)
		}
	}
	if len(of.files) != len(layer) {
		t.Errorf("%d files, and %d in the layers of direction_test.go", len(of.files), len(layer))
	}
	upwards, total := 0, 0
	for _, from := range slices.Sorted(maps.Keys(of.names)) {
		for _, to := range slices.Sorted(maps.Keys(of.names[from])) {
			total++
			if layer[from] < layer[to] {
				upwards++
				t.Errorf("%s refers to %s, of a later layer: %s", from, to,
					strings.Join(slices.Sorted(maps.Keys(of.names[from][to])), ", "))
			}
		}
	}
	if total < 100 {
		t.Errorf("%d pairs of files refer to each other: want all of them", total)
	}
	t.Logf("%d of %d pairs of files refer to a later layer", upwards, total)
}

// TestReferences: the files of the main package, which wires the verbs, hold few methods and references. With
// -v it prints them for each package of cmd/triad; -args -references-of DIR measures another checkout.
func TestReferences(t *testing.T) {
	var all references
	lines, packages := 0, 0
	err := filepath.WalkDir(filepath.Join(*referencesOf, "cmd/triad"), func(dir string, entry os.DirEntry,
		err error,
	) error {
		if err != nil || !entry.IsDir() || entry.Name() == "testdata" {
			return err
		}
		of := readReferences(t, dir)
		if len(of.files) == 0 {
			return nil
		}
		packages++
		lines += of.lines
		all.pairs, all.cyclic = all.pairs+of.pairs, all.cyclic+of.cyclic
		t.Logf("%s: %s", dir, of)
		if dir == "cmd/triad" && (of.methods["app"] > 10 || of.pairs > 10) {
			t.Errorf("%s: %s: a verb is a package of its own", dir, of)
		}
		return nil
	})
	if err != nil || packages == 0 {
		t.Fatalf("%d packages of cmd/triad, %v", packages, err)
	}
	t.Logf("cmd/triad: %d packages, %d lines, %d pairs of files of a package refer to each other, %d of "+
		"them in cycles", packages, lines, all.pairs, all.cyclic)
}

// references are those between the files of a package, to its functions, types, variables, constants and
// methods. A reference is in a cycle if the other file also refers back, directly or through others.
type references struct {
	files         []string                              // without tests
	lines         int                                   // of all files
	names         map[string]map[string]map[string]bool // by the file that refers, and the one that declares
	methods       map[string]int                        // by type
	pairs, cyclic int                                   // pairs of files in names; those that also refer back
}

func (r references) String() string {
	most, name := 0, ""
	for _, of := range slices.Sorted(maps.Keys(r.methods)) {
		if r.methods[of] > most {
			most, name = r.methods[of], of
		}
	}
	return fmt.Sprintf("%d files, %d lines, %d pairs of files refer to each other, %d of them in cycles; "+
		"most methods: %d of %q", len(r.files), r.lines, r.pairs, r.cyclic, most, name)
}

// reaches reports whether a file refers to another, directly or through others.
func (r references) reaches(from, to string) bool {
	seen := map[string]bool{from: true}
	for queue := []string{from}; len(queue) > 0; queue = queue[1:] {
		for next := range r.names[queue[0]] {
			if next == to {
				return true
			}
			if !seen[next] {
				seen[next] = true
				queue = append(queue, next)
			}
		}
	}
	return false
}

// readReferences reads the package in a folder; one without Go files has no references.
func readReferences(t *testing.T, dir string) references {
	t.Helper()
	of := references{names: map[string]map[string]map[string]bool{}, methods: map[string]int{}}
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		of.files = append(of.files, filepath.Base(name))
		of.lines += strings.Count(read(t, name), "\n")
		parsed = append(parsed, file)
	}
	// what other packages declare stays unknown: references within this one need none of it
	config := types.Config{Importer: nothing{}, Error: func(error) {}}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	checked, _ := config.Check(dir, set, parsed, info)
	for _, declared := range info.Defs {
		if f, is := declared.(*types.Func); is && receiverOf(f) != "" {
			of.methods[receiverOf(f)]++
		}
	}
	for use, declared := range info.Uses {
		f, is := declared.(*types.Func)
		if declared.Pkg() == checked && (declared.Parent() == checked.Scope() || is && receiverOf(f) != "") {
			of.add(set.Position(use.Pos()).Filename, set.Position(declared.Pos()).Filename, declared.Name())
		}
	}
	for from, to := range of.names {
		for declaring := range to {
			of.pairs++
			if of.reaches(declaring, from) {
				of.cyclic++
			}
		}
	}
	return of
}

// add notes that a file refers to a name that another file declares.
func (r references) add(from, to, name string) {
	from, to = filepath.Base(from), filepath.Base(to)
	if from == to {
		return
	}
	if r.names[from] == nil {
		r.names[from] = map[string]map[string]bool{}
	}
	if r.names[from][to] == nil {
		r.names[from][to] = map[string]bool{}
	}
	r.names[from][to][name] = true
}

// receiverOf returns the name of the type that a method belongs to, "" for a function and for a method of an
// interface.
func receiverOf(f *types.Func) string {
	receiver := f.Signature().Recv()
	if receiver == nil || types.IsInterface(receiver.Type()) {
		return ""
	}
	of := receiver.Type()
	if pointer, is := of.(*types.Pointer); is {
		of = pointer.Elem()
	}
	if named, is := of.(*types.Named); is {
		return named.Obj().Name()
	}
	return ""
}

// nothing imports every package as an empty one.
type nothing struct{}

func (nothing) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}
