package run

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

// layers are the files of this package: a file refers to its own layer and to those before it. A plan knows
// nothing of how it is executed, and a verdict nothing of how an outcome came about.
var layers = [][]string{
	{"doc", "run", "result", "statistics", "overlapping"},
	{
		"plan", "plan_entries", "plan_configured", "plan_jobs", "plan_launches", "plan_relations",
		"plan_timed", "plan_altered", "ordinary", "shard",
	},
	{"prepared"},
	{"verdict", "finding_match", "documented_findings", "power"},
	{
		"abandoned_passes", "attempt", "bench", "claim", "compare_timed", "configurations", "declined",
		"differences", "emulator_twins", "execute", "flight", "gradients", "job", "known_calls", "memory",
		"altered_call", "next_case", "prepare", "relations", "stop", "survey", "time", "unrecorded",
	},
}

// TestDirection: plan, preparation, verdict and execution refer to each other in one direction. With -v it
// says between how many pairs of files there are references.
func TestDirection(t *testing.T) {
	layer := map[string]int{}
	for i, files := range layers {
		for _, name := range files {
			layer[name+".go"] = i
		}
	}
	set := token.NewFileSet()
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, entry := range entries {
		name := entry.Name()
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			continue
		}
		if _, known := layer[name]; !known {
			t.Errorf("%s is in no layer of direction_test.go", name)
		}
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	if len(files) != len(layer) {
		t.Errorf("%d files, and %d in the layers of direction_test.go", len(files), len(layer))
	}
	pairs := references(set, files)
	upwards := 0
	for _, pair := range slices.Sorted(maps.Keys(pairs)) {
		from, to, _ := strings.Cut(pair, " ")
		if layer[from] < layer[to] {
			upwards++
			t.Errorf("%s refers to %s, of a later layer: %s", from, to,
				strings.Join(slices.Sorted(maps.Keys(pairs[pair])), ", "))
		}
	}
	if len(pairs) < 100 {
		t.Errorf("%d pairs of files refer to each other: want all of them", len(pairs))
	}
	t.Logf("%d of %d pairs of files refer to a later layer", upwards, len(pairs))
}

// references maps "FROM TO" to the names declared in the file TO that the file FROM refers to.
func references(set *token.FileSet, files []*ast.File) map[string]map[string]bool {
	// what other packages declare stays unknown: references within this one need none of it
	config := types.Config{Importer: nothing{}, Error: func(error) {}}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	of, _ := config.Check("run", set, files, info)
	pairs := map[string]map[string]bool{}
	for use, declared := range info.Uses {
		f, function := declared.(*types.Func)
		method := function && f.Signature().Recv() != nil
		if declared.Pkg() != of || declared.Parent() != of.Scope() && !method {
			continue
		}
		from, to := set.Position(use.Pos()).Filename, set.Position(declared.Pos()).Filename
		if from == to {
			continue
		}
		if pairs[from+" "+to] == nil {
			pairs[from+" "+to] = map[string]bool{}
		}
		pairs[from+" "+to][declared.Name()] = true
	}
	return pairs
}

// nothing imports every package as an empty one.
type nothing struct{}

func (nothing) Import(name string) (*types.Package, error) {
	p := types.NewPackage(name, path.Base(name))
	p.MarkComplete()
	return p, nil
}
