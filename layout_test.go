package triad_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// rule is one line of the table of who may import whom.
type rule struct {
	packages []string // import paths below "triad/", "*" for all; a trailing "/..." takes subfolders
	except   []string
	never    []string // import paths: ours below "triad/", or others'
	direct   bool     // about what a package imports itself, not what it reaches through packages of ours
	reason   string
}

var rules = []rule{
	{packages: []string{"internal/op"}, never: []string{"triad/..."}, reason: "op is everybody's vocabulary and knows nobody"},
	{
		packages: []string{
			"internal/judge", "internal/report", "internal/workload", "internal/tensor", "internal/stats",
			"internal/kernelfile", "internal/shrink", "internal/advice", "internal/cudaerror",
		},
		never:  []string{"os", "os/exec", "syscall", "net", "net/http", "database/sql", "golang.org/x/sys/unix", "C"},
		reason: "the middle is pure: no process, file or database, so that it can be tested on literals",
	},
	{packages: []string{"internal/stats"}, never: []string{"time", "triad/..."}, reason: "statistics know numbers, not what they are numbers of"},
	{
		packages: []string{"internal/judge", "internal/workload", "internal/tensor", "internal/kernelfile"},
		never:    []string{"time", "math/rand", "math/rand/v2"},
		reason:   "no clock and no chance: the same case gives the same bits and the same verdict",
	},
	{
		packages: []string{"internal/shrink", "internal/advice"}, never: []string{"time", "math/rand", "math/rand/v2"}, direct: true,
		reason: "no clock and no chance; the records that they read hold times",
	},
	{
		packages: []string{"cuda", "cuda/rewrite"}, never: []string{"triad/pybridge", "triad/results", "triad/internal/run", "triad/internal/judge", "triad/internal/truth/..."},
		reason: "the edges are siblings, and a worker never sees truth or verdict",
	},
	{
		packages: []string{"pybridge"}, never: []string{"triad/cuda", "triad/results", "triad/internal/run", "triad/internal/judge", "triad/internal/truth/..."},
		reason: "the edges are siblings, and a worker never sees truth or verdict",
	},
	{
		packages: []string{"results"}, never: []string{"triad/cuda", "triad/pybridge", "triad/internal/run", "triad/internal/worker"},
		reason: "the edges are siblings; the store knows records, not how they came about",
	},
	{packages: []string{"internal/cudaerror"}, never: []string{"triad/..."}, reason: "workers and driver share the numbers of CUDA's errors"},
	{
		packages: []string{"internal/fileversion"}, never: []string{"triad/internal/backend", "triad/internal/op", "triad/internal/run"},
		reason: "it knows files, not what they hold",
	},
	{
		packages: []string{"internal/kernelfile"},
		never: []string{
			"triad/cuda/...", "triad/pybridge", "triad/internal/backend", "triad/internal/worker", "triad/internal/catalog",
			"triad/internal/judge",
		},
		reason: "a file is read and matched to the spec that is given: text goes in, text comes out",
	},
	{
		packages: []string{"internal/ownkernels"},
		never:    []string{"triad/pybridge", "triad/results", "triad/internal/truth/...", "triad/internal/judge", "triad/internal/opfolder"},
		reason:   "the backend of added files starts the workers it is given and sees neither truth nor verdict",
	},
	{
		packages: []string{"internal/opfolder"},
		never:    []string{"triad/cuda", "triad/pybridge", "triad/results", "triad/internal/worker", "triad/internal/judge"},
		direct:   true, reason: "the truth of a folder's operator comes from the backend it is given, which runs no candidate",
	},
	{
		packages: []string{"internal/shrink"}, never: []string{"triad/cuda/...", "triad/internal/backend", "triad/internal/worker"}, direct: true,
		reason: "the search names the next case and is told its verdict; it runs nothing",
	},
	{packages: []string{"*"}, except: []string{"cuda"}, never: []string{"C"}, reason: "cgo of ours is in cuda alone"},
	{
		packages: []string{"*"}, except: []string{"cuda/cudevice"}, never: []string{"gorgonia.org/cu"},
		reason: "what imports cu links the NVIDIA driver and cannot start without one: triad-cuda alone does, behind the tag cuda",
	},
	{
		packages: []string{"cuda/cudevice", "cuda/gpuworker"}, never: []string{"triad/pybridge", "triad/results", "triad/internal/run", "triad/internal/judge", "triad/internal/truth/..."},
		reason: "the edges are siblings, and a worker never sees truth or verdict",
	},
	{
		packages: []string{"*"}, except: []string{"results"}, never: []string{"database/sql", "github.com/mattn/go-sqlite3"},
		reason: "one package talks to the database",
	},
	{
		packages: []string{"*"}, except: []string{"internal/testreport", "internal/browser"},
		never: []string{"triad/internal/need"}, reason: "it is for tests alone",
	},
	{
		packages: []string{"*"},
		never:    []string{"triad/internal/docpage", "triad/internal/browser", "triad/internal/pages/pagestest"},
		reason:   "it is for tests alone",
	},
	{
		packages: []string{"internal/plot"}, never: []string{"triad/..."},
		reason: "a drawing knows numbers and names, not what they are of",
	},
	{
		packages: []string{"*"}, except: []string{
			"internal/mutationscore", "internal/truth/elementwise/elementwisetest",
			"internal/truth/integer/integertest", "internal/truth/movement/movementtest",
			"internal/truth/reduction/reductiontest", "internal/truth/rownorm/rownormtest",
			"internal/truth/scan/scantest",
			"internal/truth/selection/selectiontest",
			"internal/truth/product/producttest",
		},
		never: []string{
			"triad/internal/truth/truthtest", "triad/internal/truth/formula/planted",
			"triad/internal/truth/elementwise/elementwisetest", "triad/internal/truth/integer/integertest",
			"triad/internal/truth/movement/movementtest", "triad/internal/truth/reduction/reductiontest",
			"triad/internal/truth/rownorm/rownormtest", "triad/internal/truth/scan/scantest",
			"triad/internal/truth/selection/selectiontest",
			"triad/internal/truth/product/producttest",
		},
		reason: "it is for tests alone",
	},
	{
		packages: []string{"*"}, except: []string{"cmd/triad"}, never: []string{"github.com/spf13/cobra", "triad/internal/session"},
		reason: "flags are wired in cmd, and an exit code is for a verb",
	},
	{
		packages: []string{"*"}, except: []string{"cmd/triad", "internal/session"}, never: []string{"triad/internal/run"},
		reason: "the order of a run is started by a session",
	},
	{
		packages: []string{"internal/timing"}, never: []string{
			"triad/internal/run", "triad/internal/judge", "triad/internal/catalog",
			"triad/internal/workload", "triad/internal/worker", "triad/results", "triad/cuda/...", "triad/pybridge/...",
		},
		reason: "what times knows calls and times: what is right is told to it",
	},
	{packages: []string{"*"}, never: []string{"triad/internal/timing/timingtest", "triad/internal/backend/backendtest"}, reason: "it is for tests alone"},
	{
		packages: []string{"internal/session"}, never: []string{"triad/cuda/...", "triad/pybridge/..."},
		reason: "a session takes workers as they are: which there are is wired in cmd",
	},
	{
		packages: []string{"internal/worker", "internal/backend", "internal/record", "internal/catalog/...", "internal/truth/..."},
		never:    []string{"triad/cuda", "triad/pybridge", "triad/results", "triad/cmd/..."}, reason: "what lies inside does not know the edges",
	},
	{
		packages: []string{"internal/catalog"}, never: []string{"triad/internal/catalog/...", "triad/internal/truth/...", "triad/internal/judge"},
		reason: "the catalog says what an operator is; a worker imports it and may not see a truth or a verdict",
	},
	{packages: []string{"internal/catalog/*"}, never: []string{"triad/internal/catalog/*"}, reason: "what two operators share belongs to internal/truth"},
	{
		packages: []string{"internal/truth"}, never: []string{"triad/internal/catalog/*"},
		reason: "operators register with what they share, which knows none of them",
	},
}

// imports gives, for every package of ours (by its path below "triad/"), what its non-test files import.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	everyFile(t, func(file string, parsed *ast.File) {
		dir := path.Dir(file)
		found[dir] = append(found[dir], "")
		for _, i := range parsed.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			found[dir] = append(found[dir], name)
		}
	})
	return found
}

func covers(pattern, name string) bool {
	if base, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(name, base+"/")
	}
	if base, ok := strings.CutSuffix(pattern, "/..."); ok {
		return strings.HasPrefix(name, base+"/") || name == base
	}
	return pattern == "*" || pattern == name
}

func coveredBy(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return covers(p, name) })
}

// reached gives, for every import path that a package of ours reaches through packages of ours, the chain of them that leads there.
func reached(all map[string][]string, dir string) map[string][]string {
	chains := map[string][]string{}
	var visit func(dir string, chain []string)
	visit = func(dir string, chain []string) {
		for _, imported := range all[dir] {
			if _, seen := chains[imported]; seen || imported == "" {
				continue
			}
			chains[imported] = append(slices.Clone(chain), imported)
			if ours, is := strings.CutPrefix(imported, "triad/"); is {
				visit(ours, chains[imported])
			}
		}
	}
	visit(dir, nil)
	return chains
}

// broken lists how packages break a rule. A rule of every package, and a direct one, is about what each imports itself; the others are about what
// a package reaches through packages of ours too.
func broken(all map[string][]string, r rule) []string {
	var found []string
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		if !coveredBy(r.packages, dir) || coveredBy(r.except, dir) {
			continue
		}
		chains := reached(all, dir)
		for _, imported := range slices.Sorted(maps.Keys(chains)) {
			if coveredBy(r.never, imported) && (len(chains[imported]) == 1 || !r.direct && !slices.Contains(r.packages, "*")) {
				found = append(found, dir+" imports "+strings.Join(chains[imported], ", which imports ")+": "+r.reason)
			}
		}
	}
	return found
}

// Who may import whom: every rule with its reason.
func TestImports(t *testing.T) {
	all := imports(t)
	for _, r := range rules {
		for _, name := range r.packages {
			if name != "*" && !slices.ContainsFunc(slices.Collect(maps.Keys(all)), func(dir string) bool { return covers(name, dir) }) {
				t.Errorf("the rule %q names the package %s, which is not there", r.reason, name)
			}
		}
		for _, how := range broken(all, r) {
			t.Error(how)
		}
	}
}

// The rules are examined too: a package that breaks one is seen.
func TestImportRulesBite(t *testing.T) {
	if !coveredBy(rules[0].never, "triad/internal/tensor") || coveredBy(rules[0].never, "fmt") {
		t.Error("op may import nothing of ours")
	}
	if coveredBy(rules[1].never, "math") || !coveredBy(rules[1].never, "os") {
		t.Error("the pure middle may not import os")
	}
	all := map[string][]string{"cuda": {"fmt", "triad/internal/catalog"}, "internal/catalog": {"triad/internal/truth"}, "internal/truth": {"triad/internal/judge"}}
	r := rule{packages: []string{"cuda"}, never: []string{"triad/internal/judge"}, reason: "a worker sees no verdict"}
	want := "cuda imports triad/internal/catalog, which imports triad/internal/truth, which imports triad/internal/judge: a worker sees no verdict"
	if found := broken(all, r); !slices.Equal(found, []string{want}) {
		t.Errorf("of a worker that reaches the judge through others: %q", found)
	}
}

// roomFiles are the files that every operator has, its name for OP; a gap is declared in the spec. Those that only operators with a backward have
// are not among them.
var roomFiles = map[string]string{
	"spec": "internal/catalog/OP/OP.toml", "truth": "internal/catalog/OP/truth.go", "mutants": "internal/catalog/OP/mutants_test.go",
	"cuda": "cuda/kernels/OP.cu", "triton": "triton/OP.py",
}

// operatorNames are the names of the folders with a spec.
func operatorNames(t *testing.T) []string {
	t.Helper()
	specs, err := filepath.Glob("internal/catalog/*/*.toml")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range specs {
		names = append(names, filepath.Base(filepath.Dir(file)))
	}
	if names = slices.Compact(names); len(names) == 0 {
		t.Fatal("no operator at all")
	}
	return names
}

// One operator, one name, a file in every room; a gap is declared in the spec.
func TestOperatorParity(t *testing.T) {
	operators := operatorNames(t)
	for _, name := range operators {
		for room, pattern := range roomFiles {
			file := strings.ReplaceAll(pattern, "OP", name)
			if _, err := os.Stat(file); err != nil && !declaredAbsent(t, name, room) {
				t.Errorf("%s has no %s", name, file)
			}
		}
	}
	for _, pattern := range []string{"cuda/kernels/*.cu", "triton/*.py"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if name := strings.TrimSuffix(filepath.Base(file), path.Ext(file)); !slices.Contains(operators, name) {
				t.Errorf("%s is of no operator: internal/catalog/%s is not there", file, name)
			}
		}
	}
	folders, err := os.ReadDir("internal/catalog")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		if folder.IsDir() && !slices.Contains(operators, folder.Name()) {
			t.Errorf("internal/catalog/%s has no spec %[1]s.toml", folder.Name())
		}
	}
}

func declaredAbsent(t *testing.T, name, room string) bool {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("internal/catalog", name, name+".toml"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(string(text), "room = "+strconv.Quote(room))
}

// An __init__.py in triton/ or cuda/ would hide the packages of that name, silently.
func TestNoInitFiles(t *testing.T) {
	for _, dir := range []string{"triton", "cuda"} {
		if _, err := os.Stat(filepath.Join(dir, "__init__.py")); err == nil {
			t.Errorf("%s/__init__.py hides the real package %s from Python", dir, dir)
		}
	}
}

// Shared code of the judge names no operator: what is particular to one is a key of its spec, or stands in its own files.
func TestSharedCodeNamesNoOperator(t *testing.T) {
	operators := operatorNames(t)
	read := 0
	for _, dir := range []string{
		"catalog", "judge", "opfolder", "ownkernels", "parallel", "run", "session", "shrink", "stats", "tensor", "truth", "worker",
		"workload",
	} {
		files, err := filepath.Glob("internal/" + dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			read++
			for _, name := range operatorsNamed(t, file, nil, operators) {
				t.Errorf("%s names an operator: make what is meant a key of the spec (docs/writing-an-op.md)", name)
			}
		}
	}
	if read < 50 {
		t.Errorf("%d files were read: want all of the shared ones", read)
	}
	planted := "package p\n\nfunc f(k call) bool { return k.Op == \"" + operators[len(operators)-1] + "\" || k.says(\"as in " + operators[len(operators)-1] + " alone\") }\n"
	if found := operatorsNamed(t, "planted.go", planted, operators); len(found) != 2 {
		t.Errorf("of two planted names %d are found: %v", len(found), found)
	}
	planted = "package p\n\nvar x, y = \"" + everyday[0] + "\", \"to " + everyday[0] + " up\"\n"
	if found := operatorsNamed(t, "planted.go", planted, operators); len(found) != 1 {
		t.Errorf("of a name that is an everyday word too %d are found, want the one that stands alone: %v", len(found), found)
	}
}

// everyday are operators' names that are words of any sentence: a literal names such an operator where it is the name and nothing else.
// The word add is a flag, a key and a name of functions too, and sums are what kernels are made of. A copy is
// a ruler, and reverse an order of blocks.
var everyday = []string{"add", "sum", "copy", "reverse"}

// operatorsNamed lists the string literals of a Go file in which a word is the name of an operator.
func operatorsNamed(t *testing.T, file string, source any, operators []string) []string {
	t.Helper()
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		words := strings.FieldsFunc(literal.Value, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		if slices.ContainsFunc(words, func(w string) bool {
			return slices.Contains(operators, w) && (len(words) == 1 || !slices.Contains(everyday, w))
		}) {
			found = append(found, set.Position(literal.Pos()).String()+": "+literal.Value)
		}
		return true
	})
	return found
}

// A panic in a goroutine that nothing guards ends the process, whatever was being recorded: goroutines are started by panics alone.
func TestGoroutinesAreGuarded(t *testing.T) {
	everyFile(t, func(file string, parsed *ast.File) {
		if strings.HasPrefix(file, "internal/panics/") {
			return
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s: a go statement: use panics.Go or panics.Group", file)
			case *ast.SelectorExpr:
				if of, is := n.X.(*ast.Ident); is && of.Name == "sync" && n.Sel.Name == "WaitGroup" {
					t.Errorf("%s: a sync.WaitGroup: use panics.Group", file)
				}
			}
			return true
		})
	})
}

// A program that is started otherwise has no deadline, survives Ctrl-C and leaves behind what it started.
func TestProgramsAreStartedInOnePlace(t *testing.T) {
	starters := map[string][]string{
		"os/exec": {"Command", "CommandContext", "Cmd"}, "os": {"StartProcess"},
		"syscall": {"ForkExec", "StartProcess"}, "golang.org/x/sys/unix": {"ForkExec"},
	}
	found := 0
	everyFile(t, func(file string, parsed *ast.File) {
		names := map[string][]string{} // what starts a program, by the name of its package in this file
		for _, i := range parsed.Imports {
			at := strings.Trim(i.Path.Value, `"`)
			name := path.Base(at)
			if i.Name != nil {
				name = i.Name.Name
			}
			names[name] = starters[at]
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			s, is := n.(*ast.SelectorExpr)
			if !is {
				return true
			}
			if of, is := s.X.(*ast.Ident); is && slices.Contains(names[of.Name], s.Sel.Name) {
				if found++; !strings.HasPrefix(file, "internal/subprocess/") {
					t.Errorf("%s: %s.%s: internal/subprocess starts programs", file, of.Name, s.Sel.Name)
				}
			}
			return true
		})
	})
	if found == 0 {
		t.Error("nothing starts a program: the test looks for the wrong names")
	}
}

// everyFile parses every file of ours that is no test.
func everyFile(t *testing.T, do func(file string, parsed *ast.File)) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && file != ".") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err == nil {
			do(filepath.ToSlash(file), parsed)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
