package triad_test

import (
	"go/ast"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rule is one line of the table of allowed imports.
type rule struct {
	packages []string // import paths below "triad/", "*" for all; a trailing "/..." takes subfolders
	except   []string
	never    []string // import paths: ours below "triad/", or others'
	direct   bool     // about a package's own imports, not those it reaches through packages of ours
	reason   string
}

// ofVerbs are the packages that carry out what verbs ask for: they start runs, and decide how a command ends.
var ofVerbs = []string{
	"internal/machine", "internal/runsetup", "internal/manyfiles", "internal/fleetrun", "internal/look",
	"internal/profile", "internal/programcheck", "internal/sanitize", "internal/smallestcase",
	"internal/twins", "internal/participants", "internal/judgeloop/lanes", "internal/disassembly",
	"internal/standing",
}

var rules = []rule{
	{
		packages: []string{"internal/op"}, never: []string{"triad/..."},
		reason: "op is everybody's vocabulary and knows nobody",
	},
	{
		packages: slices.Concat([]string{
			"internal/judge", "internal/report", "internal/workload", "internal/tensor", "internal/stats",
			"internal/shrink", "internal/advice", "internal/cudaerror", "internal/casegaps",
			"internal/ownfile/pyfacts", "internal/ownfile/observed",
		}, factsOfFiles, stepsOfFiles),
		never: []string{
			"os", "os/exec", "syscall", "net", "net/http", "database/sql",
			"golang.org/x/sys/unix", "C",
		},
		reason: "the middle is pure: no process, file or database, so that it can be tested on literals",
	},
	{
		packages: []string{"internal/stats"}, never: []string{"time", "triad/..."},
		reason: "statistics know numbers, not what they are numbers of",
	},
	{
		packages: slices.Concat([]string{"internal/judge", "internal/workload", "internal/tensor"},
			factsOfFiles, stepsOfFiles),
		never:  []string{"time", "math/rand", "math/rand/v2"},
		reason: "no clock and no chance: the same case gives the same bits and the same verdict",
	},
	{
		packages: []string{"internal/shrink", "internal/advice"},
		never:    []string{"time", "math/rand", "math/rand/v2"}, direct: true,
		reason: "no clock and no chance; the records that they read hold times",
	},
	{
		packages: []string{"cuda/..."},
		never: []string{
			"triad/pybridge", "triad/results", "triad/internal/run", "triad/internal/judge",
			"triad/internal/truth/...",
		},
		reason: "the edges are siblings, and a worker never sees truth or verdict",
	},
	{
		packages: []string{"cuda/build", "cuda/program", "cuda/rewrite"},
		never:    []string{"triad/cuda/serve", "triad/cuda/cudevice", "triad/cuda/gpuworker"},
		reason:   "what builds knows no device and no worker",
	},
	{
		packages: []string{"cuda/build"}, never: []string{"triad/cuda/program"},
		reason: "a builder of libraries and executables knows no program of check",
	},
	{
		packages: []string{"pybridge"}, never: []string{
			"triad/cuda/...", "triad/results", "triad/internal/run",
			"triad/internal/judge", "triad/internal/truth/...",
		},
		reason: "the edges are siblings, and a worker never sees truth or verdict",
	},
	{
		packages: []string{"results"}, never: []string{
			"triad/cuda/...", "triad/pybridge", "triad/internal/run",
			"triad/internal/worker",
		},
		reason: "the edges are siblings; the store knows records, not how they came about",
	},
	{
		packages: []string{"internal/cudaerror"}, never: []string{"triad/..."},
		reason: "workers and driver share the numbers of CUDA's errors",
	},
	{
		packages: []string{"internal/fileversion"},
		never:    []string{"triad/internal/backend", "triad/internal/op", "triad/internal/run"},
		reason:   "it knows files, not what they hold",
	},
	{
		packages: []string{"internal/ownkernels"},
		never: []string{
			"triad/pybridge", "triad/results", "triad/internal/truth/...",
			"triad/internal/judge", "triad/internal/opfolder",
		},
		reason: "the backend of added files starts the workers it is given and sees neither truth nor " +
			"verdict",
	},
	{
		packages: []string{"internal/opfolder"},
		never: []string{
			"triad/cuda/build", "triad/cuda/program", "triad/cuda/serve", "triad/pybridge", "triad/results",
			"triad/internal/worker",
			"triad/internal/judge",
		},
		direct: true, reason: "the truth of a folder's operator comes from the backend it is given, " +
			"which runs no candidate",
	},
	{
		packages: []string{"internal/problem"},
		never: []string{
			"triad/pybridge", "triad/results", "triad/internal/worker", "triad/internal/run", "os/exec",
			"triad/internal/subprocess",
		},
		direct: true,
		reason: "a problem's code runs in the process that cmd starts: what imports it gets a description",
	},
	{
		packages: []string{"internal/problem/submissions"},
		never: []string{
			"triad/results", "triad/internal/truth/...", "triad/internal/judge", "triad/internal/run",
			"triad/internal/session", "triad/internal/machine", "triad/internal/ownfile/trial",
			"triad/internal/ownfile/observe",
		},
		direct: true,
		reason: "a submission is read as its format says, on any machine; it sees no truth and starts no run",
	},
	{
		packages: []string{"internal/participants"},
		never: []string{
			"triad/results", "triad/internal/judge", "triad/internal/session", "triad/internal/runsetup",
			"triad/internal/judgeloop/...",
		},
		direct: true,
		reason: "it makes the backends of a run, and knows neither flags of verbs nor how a run is recorded",
	},
	{
		packages: []string{"internal/runsetup"},
		never: []string{
			"triad/internal/ownfile", "triad/internal/ownfile/binding", "triad/internal/ownkernels",
			"triad/internal/submission",
			"triad/internal/problem/...", "triad/internal/judgeloop/...",
		},
		direct: true,
		reason: "it turns flags into a request and opens a session; participants makes the backends",
	},
	{
		packages: []string{"internal/submission"},
		never: []string{
			"triad/pybridge", "triad/results", "triad/internal/truth/...", "triad/internal/judge",
			"triad/internal/opfolder", "triad/internal/ownfile/...",
		},
		reason: "a submission is called as its format says: nothing of it is read, and it sees no verdict",
	},
	{
		packages: []string{"internal/shrink"},
		never:    []string{"triad/cuda/...", "triad/internal/backend", "triad/internal/worker"},
		direct:   true,
		reason:   "the search names the next case and is told its verdict; it runs nothing",
	},
	{
		packages: []string{"*"}, except: []string{"cuda/serve"}, never: []string{"C"},
		reason: "cgo of ours is in cuda/serve alone",
	},
	{
		packages: []string{"*"}, except: []string{"cuda/cudevice"}, never: []string{"gorgonia.org/cu"},
		reason: "what imports cu links the NVIDIA driver and cannot start without one: triad-cuda alone " +
			"does, behind the tag cuda",
	},
	{
		packages: []string{"*"}, except: []string{"results"},
		never:  []string{"database/sql", "github.com/mattn/go-sqlite3"},
		reason: "one package talks to the database",
	},
	{
		packages: []string{"*"}, except: []string{
			"internal/testreport", "internal/browser", "internal/truth/truthtest", "cuda/cudatest",
			"internal/backend/backendtest",
		},
		never: []string{"triad/internal/need"}, reason: "it is for tests alone",
	},
	{
		packages: []string{"*"},
		never: []string{
			"triad/internal/docpage", "triad/internal/browser", "triad/cuda/cudatest",
			"triad/internal/pages/pagestest",
		},
		reason: "it is for tests alone",
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
			"internal/truth/product/producttest", "internal/truth/ranks/rankstest",
		},
		never: []string{
			"triad/internal/truth/truthtest", "triad/internal/truth/formula/planted",
			"triad/internal/truth/elementwise/elementwisetest", "triad/internal/truth/integer/integertest",
			"triad/internal/truth/movement/movementtest", "triad/internal/truth/reduction/reductiontest",
			"triad/internal/truth/rownorm/rownormtest", "triad/internal/truth/scan/scantest",
			"triad/internal/truth/selection/selectiontest",
			"triad/internal/truth/product/producttest", "triad/internal/truth/ranks/rankstest",
		},
		reason: "it is for tests alone",
	},
	{
		packages: []string{"*"}, except: []string{"cmd/triad/..."},
		never:  []string{"github.com/spf13/cobra", "triad/cmd/..."},
		reason: "flags are wired in cmd, which nothing else knows",
	},
	{
		packages: []string{"*"}, except: append([]string{"cmd/triad/...", "internal/console"}, ofVerbs...),
		never:  []string{"triad/internal/session"},
		reason: "an exit code is for a verb, and for what carries one out",
	},
	{
		packages: []string{"*"}, except: append([]string{"cmd/triad/...", "internal/session"}, ofVerbs...),
		never:  []string{"triad/internal/run"},
		reason: "the order of a run is started by a session, or by what judges without one",
	},
	{
		packages: []string{"internal/timing"}, never: []string{
			"triad/internal/run", "triad/internal/judge", "triad/internal/catalog",
			"triad/internal/workload", "triad/internal/worker", "triad/results", "triad/cuda/...",
			"triad/pybridge/...",
		},
		reason: "what times knows calls and times: what is right is told to it",
	},
	{
		packages: []string{"*"},
		never:    []string{"triad/internal/timing/timingtest", "triad/internal/backend/backendtest"},
		reason:   "it is for tests alone",
	},
	{
		packages: []string{"internal/session"}, never: []string{"triad/cuda/...", "triad/pybridge/..."},
		reason: "a session takes workers as they are: which there are is wired in cmd",
	},
	{
		packages: []string{
			"internal/worker", "internal/backend", "internal/record", "internal/catalog/...",
			"internal/truth/...",
		},
		never:  []string{"triad/cuda/...", "triad/pybridge", "triad/results", "triad/cmd/..."},
		reason: "what lies inside does not know the edges",
	},
	{
		packages: []string{"internal/catalog"},
		never:    []string{"triad/internal/catalog/...", "triad/internal/truth/...", "triad/internal/judge"},
		reason: "the catalog says what an operator is; a worker imports it and may not see a truth or a " +
			"verdict",
	},
	{
		packages: []string{"internal/catalog/*"}, never: []string{"triad/internal/catalog/*"},
		reason: "what two operators share belongs to internal/truth",
	},
	{
		packages: []string{"internal/truth"}, never: []string{"triad/internal/catalog/*"},
		reason: "operators register with what they share, which knows none of them",
	},
}

// imports maps every package of ours (by its path below "triad/") to the imports of its non-test files.
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

// reached maps every import path that a package of ours reaches through packages of ours to the shortest
// chain of imports that leads there.
func reached(all map[string][]string, dir string) map[string][]string {
	chains := map[string][]string{"triad/" + dir: {}}
	for queue := []string{dir}; len(queue) > 0; queue = queue[1:] {
		for _, imported := range all[queue[0]] {
			if _, seen := chains[imported]; seen || imported == "" {
				continue
			}
			chains[imported] = append(slices.Clone(chains["triad/"+queue[0]]), imported)
			if ours, is := strings.CutPrefix(imported, "triad/"); is {
				queue = append(queue, ours)
			}
		}
	}
	delete(chains, "triad/"+dir)
	return chains
}

// broken lists how packages break a rule. A rule for every package, and a direct one, concerns only a
// package's own imports; the others also what it reaches through packages of ours.
func broken(all map[string][]string, r rule) []string {
	var found []string
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		if !coveredBy(r.packages, dir) || coveredBy(r.except, dir) {
			continue
		}
		chains := reached(all, dir)
		for _, imported := range slices.Sorted(maps.Keys(chains)) {
			if coveredBy(r.never, imported) &&
				(len(chains[imported]) == 1 || !r.direct && !slices.Contains(r.packages, "*")) {
				found = append(found, dir+" imports "+strings.Join(chains[imported], ", which imports ")+": "+
					r.reason)
			}
		}
	}
	return found
}

// The import rules hold, each with its reason.
func TestImports(t *testing.T) {
	all := imports(t)
	for _, r := range slices.Concat(rules, rulesOfFiles) {
		for _, name := range r.packages {
			if name != "*" &&
				!slices.ContainsFunc(slices.Collect(maps.Keys(all)),
					func(dir string) bool { return covers(name, dir) }) {
				t.Errorf("the rule %q names the package %s, which is not there", r.reason, name)
			}
		}
		for _, how := range broken(all, r) {
			t.Error(how)
		}
	}
}

// sharedByVerbs are the packages of cmd/triad that verbs may import.
var sharedByVerbs = []string{"triad/cmd/triad/flags", "triad/cmd/triad/arguments"}

// verbsOfOthers lists the verbs that import another verb.
func verbsOfOthers(all map[string][]string) []string {
	var found []string
	for _, dir := range slices.Sorted(maps.Keys(all)) {
		for _, imported := range all[dir] {
			if strings.HasPrefix(dir, "cmd/triad/") && strings.HasPrefix(imported, "triad/cmd/") &&
				!slices.Contains(sharedByVerbs, imported) {
				found = append(found, dir+" imports "+imported+": no verb reaches another's state; "+
					"cmd/triad/root.go passes what it needs")
			}
		}
	}
	return found
}

// No verb imports another one.
func TestVerbsDoNotImportVerbs(t *testing.T) {
	for _, how := range verbsOfOthers(imports(t)) {
		t.Error(how)
	}
	found := verbsOfOthers(map[string][]string{
		"cmd/triad":       {"triad/cmd/triad/check"},
		"cmd/triad/watch": {"triad/cmd/triad/flags", "triad/cmd/triad/compare"},
	})
	if len(found) != 1 || !strings.HasPrefix(found[0], "cmd/triad/watch imports triad/cmd/triad/compare: ") {
		t.Errorf("of a verb that imports another: %q", found)
	}
}

// A package that breaks a rule is detected.
func TestImportRulesBite(t *testing.T) {
	if !coveredBy(rules[0].never, "triad/internal/tensor") || coveredBy(rules[0].never, "fmt") {
		t.Error("op may import nothing of ours")
	}
	if coveredBy(rules[1].never, "math") || !coveredBy(rules[1].never, "os") {
		t.Error("the pure middle may not import os")
	}
	all := map[string][]string{
		"cuda":             {"fmt", "triad/internal/catalog"},
		"internal/catalog": {"triad/internal/truth"}, "internal/truth": {"triad/internal/judge"},
	}
	r := rule{
		packages: []string{"cuda"}, never: []string{"triad/internal/judge"},
		reason: "a worker sees no verdict",
	}
	want := "cuda imports triad/internal/catalog, which imports triad/internal/truth, which imports " +
		"triad/internal/judge: a worker sees no verdict"
	if found := broken(all, r); !slices.Equal(found, []string{want}) {
		t.Errorf("of a worker that reaches the judge through others: %q", found)
	}
	// verb reaches the judge through a too, whose import stands first.
	all = map[string][]string{"verb": {"triad/a", "triad/judge"}, "a": {"triad/judge"}}
	r = rule{packages: []string{"verb"}, never: []string{"triad/judge"}, direct: true, reason: "why"}
	if found := broken(all, r); !slices.Equal(found, []string{"verb imports triad/judge: why"}) {
		t.Errorf("of a package that imports what it also reaches through another: %q", found)
	}
}
