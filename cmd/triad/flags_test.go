package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triad"
	"triad/cmd/triad/bench"
	"triad/cmd/triad/flags"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/runsetup"
	"triad/internal/session"
	"triad/internal/timing"
)

// asked holds the cases that a verb makes of its flags, and everything else that decides what is run.
type asked struct {
	Cases  []op.Case
	Impls  []string
	Seed   uint64
	Timing *timing.Plan
	Limits any
}

// ask parses the flags of a verb as the verb does, up to where it looks for a GPU.
func ask(t *testing.T, verb string, args []string) (string, error) {
	t.Helper()
	o := bench.Options{Options: runsetup.Options{Verb: verb}}
	cmd := &cobra.Command{Use: verb}
	switch verb {
	case "bench":
		o.AddFlags(cmd)
	case "gradcheck":
		flags.Run(cmd, &o.Options, "backward")
	default:
		flags.Run(cmd, &o.Options, "both")
		flags.OnGPU(cmd, &o.Options)
	}
	if err := cmd.ParseFlags(args); err != nil {
		return "", err
	}
	if verb == "watch" {
		o.Quick = !o.Full
	}
	request, err := o.Request(triad.Files, []string{"softmax"})
	if err != nil {
		return "", err
	}
	options, err := machine.Options(o.Limits)
	if err != nil {
		return "", err
	}
	a := asked{Impls: request.Impls, Seed: request.Seed, Limits: options.Limits}
	spec := request.Operators[0].Spec
	var plan op.Plan
	if verb == "bench" {
		if a.Timing, err = o.Plan(); err == nil {
			plan, err = timing.BenchCases(spec, request.Options)
		}
	} else {
		plan, err = spec.Expand(request.Options)
	}
	a.Cases = plan.Cases
	text, jsonErr := json.Marshal(a)
	if jsonErr != nil {
		t.Fatal(jsonErr)
	}
	return string(text), err
}

// caseWords holds flags of every verb that runs something that change its cases, what runs on them, or for
// how long.
var caseWords = map[string][]string{
	"pass": {"backward"}, "dtype": {"fp32"}, "dims": {"rows=3,cols=5"}, "impl": {"cuda"}, "quick": nil,
	"full": nil, "seed": {"7"}, "limit": {"call=30s"},
	"distribution": {"scaled"}, "layout": {"sliced"}, "upstream": {"ones"}, "saved": {"driver"},
	"attr": {"causal=true"},
}

// TestCaseFlagsChangeWhatIsRun: the flags of the verbs that run something choose what is run, or are refused:
// none is accepted without an effect.
func TestCaseFlagsChangeWhatIsRun(t *testing.T) {
	refused := map[string]string{ // a flag as the verb is given it
		"bench --full":             "--full is a flag of compare",
		"compare --attr":           "causal",
		"gradcheck --attr":         "causal",
		"watch --attr":             "causal",
		"bench --attr":             "causal",
		"compare --forward-saved":  "speak of backwards",
		"compare --forward-ones":   "speak of backwards",
		"bench --forward-ones":     "speak of backwards",
		"bench --unknown-upstream": "unknown upstream",
	}
	more := map[string][]string{
		"forward-saved": {"--pass", "forward", "--saved", "own"}, "forward-ones": {
			"--pass", "forward",
			"--upstream", "ones",
		},
		"unknown-upstream": {"--upstream", "odd"},
	}
	same := map[string]bool{"watch --quick": true, "gradcheck --pass": true} // the default of the verb
	for _, verb := range []string{"compare", "gradcheck", "watch", "bench"} {
		plain, err := ask(t, verb, nil)
		if err != nil {
			t.Fatal(err)
		}
		flags := map[string][]string{}
		for name, value := range caseWords {
			flags[name] = []string{"--" + name}
			if value != nil {
				flags[name] = append(flags[name], value...)
			}
		}
		for name, args := range more {
			flags[name] = args
		}
		if verb == "bench" {
			flags["regime"], flags["rounds"], flags["budget"] = []string{"--regime", "warm"},
				[]string{"--rounds", "9"}, []string{"--budget", "2s"}
			flags["burst"], flags["sustained"] = []string{"--burst"}, []string{"--sustained"}
		}
		for name, args := range flags {
			key := verb + " --" + name
			got, err := ask(t, verb, args)
			want, isRefused := refused[key]
			switch {
			case isRefused && want != "" && (err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s: %v, want it refused with %q", key, err, want)
			case !isRefused && err != nil && more[name] == nil:
				t.Errorf("%s: %v", key, err)
			case err == nil && got == plain && !same[key]:
				t.Errorf("%s changes nothing", key)
			}
		}
	}
}

// elsewhere maps the flags whose effect is in what a verb prints, writes or finds to the script or the test
// that shows it.
var elsewhere = map[string]string{
	"into": "import.txtar", "audit": "import.txtar",
	"device": "bench.txtar", "gpu": "gpu_test.go", "yes": "no_tools.txtar", "offline": "no_tools.txtar",
	"include": "check_test.go", "define": "check_test.go", "sarif": "check_test.go", "watch": "check_test.go",
	"std":  "check_test.go",
	"size": "check_kinds_test.go", "debug": "check_debug_test.go", "arch": "check_registers_test.go",
	"json": "compare.txtar", "resume": "resume.txtar",
	"explain": "compare.txtar", "verbose": "compare.txtar", "dump": "dump.txtar", "db": "results.txtar",
	"sanitize": "sanitize_test.go", "profile": "profile_test.go", "no-timing": "flags_test.go",
	"plan": "plan.txtar",
	"on":   "slurm.txtar", "shards": "slurm.txtar", "slurm": "slurm.txtar", "parts": "slurm.txtar",
	"gpus": "several.txtar", "kernels": "gpu_test.go",
	"shard": "shard.txtar", "junit": "ci.txtar", "github": "ci.txtar",
	"against": "history.txtar", "across": "history.txtar", "output": "history.txtar",
	"param": "results.txtar", "save": "results.txtar", "list": "results.txtar",
	"open": "report.txtar", "kind": "report.txtar", "port": "serve_test.go",
	"add": "own_usage_test.go", "map": "own_usage_test.go", "contract": "own_usage_test.go",
	"write":      "own_line_test.go",
	"nvcc-flags": "own_usage_test.go", "sandbox": "hostile_test.go", "no-sandbox": "hostile_test.go",
	"grid": "own_usage_test.go", "block": "own_usage_test.go", "shared": "own_usage_test.go",
	"nvcc": "folder_test.go", "version": "verbs.txtar", "once": "look_test.go", "page": "look_test.go",
	"remove": "verbs.txtar", "schema": "results.txtar", "deadline": "results.txtar",
	"rows": "results.txtar", "op": "results.txtar", "bad": "results.txtar",
	"status": "results.txtar", "since": "results.txtar", "format": "bench.txtar", "session": "flags_test.go",
	"in-tree": "new_in_tree_test.go", "family": "new_in_tree_test.go",
	"from": "folder_test.go", "reference": "verbs.txtar", "reduction": "verbs.txtar",
	"strict": "findings_test.go", "peers": "faults_python.txtar", "cutile": "faults_python.txtar",
	"wheels": "faults_python.txtar", "solution": "learn.txtar",
	"stdin": "judge_loop_test.go", "blind": "judge_loop_test.go", "all": "judge_loop_test.go",
	"lanes": "judge_loop_test.go", "inputs": "judge_loop_test.go", "level": "judge_loop_test.go",
	"timeout": "judge_loop_test.go", "given-sizes": "judge_loop_test.go",
	"dtype": "results.txtar", "impl": "results.txtar", "pass": "results.txtar", "limit": "results.txtar",
	"regime": "bench.txtar", "rounds": "bench.txtar", "budget": "bench.txtar", "burst": "flags_test.go",
	"sustained": "flags_test.go",
	"quick":     "flags_test.go", "full": "flags_test.go", "layout": "flags_test.go",
	"distribution": "flags_test.go", "upstream": "flags_test.go", "saved": "flags_test.go",
	"attr": "flags_test.go", "dims": "flags_test.go", "seed": "flags_test.go",
}

// TestEveryFlagHasATest: every flag of every verb is named by a test that shows its effect.
func TestEveryFlagHasATest(t *testing.T) {
	texts := map[string]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() && (strings.HasSuffix(path, ".txtar") ||
			strings.HasSuffix(path, "_test.go")) {
			text, readErr := os.ReadFile(path)
			texts[filepath.Base(path)], err = string(text), readErr
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Name() == "worker" { // triad's own processes: nobody types it
			return
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if f.Name == "help" {
				return
			}
			where, named := elsewhere[f.Name]
			if _, here := caseWords[f.Name]; here && where == "flags_test.go" {
				return
			}
			if !named || !regexp.MustCompile(`--`+regexp.QuoteMeta(f.Name)+`\b`).MatchString(texts[where]) {
				t.Errorf("%s --%s: no test shows what it does (%q)", cmd.CommandPath(), f.Name, where)
			}
		})
		for _, child := range cmd.Commands() {
			visit(child)
		}
	}
	visit(newApp(nil, nil, nil).root())
}

// TestFlagsWithoutEffectAreRefused: flags that would have no effect together, or with a verb, are refused
// with exit code 2.
func TestFlagsWithoutEffectAreRefused(t *testing.T) {
	for line, says := range map[string]string{
		"bench softmax --full":                               "--full is a flag of compare",
		"bench softmax --pass forward --upstream ones":       "speak of backwards",
		"compare softmax --sanitize memcheck --resume":       "--sanitize says what tools find",
		"compare softmax --sanitize memcheck --against last": "--sanitize says what tools find",
		"compare softmax --sanitize memcheck --shard 1/2":    "--sanitize says what tools find",
		"compare softmax --shard 0/2":                        "--shard \"0/2\": want I/N",
		"compare softmax --shard 3/2":                        "--shard \"3/2\": want I/N",
		"gradcheck softmax --shard 1/0":                      "--shard \"1/0\": want I/N",
		"bench softmax --shard half":                         "--shard \"half\": want I/N",
		"watch softmax --add mine.cu --shard 1/2":            "unknown flag: --shard",
		"compare softmax --sanitize memcheck --explain":      "--sanitize says what tools find",
		"compare softmax --sanitize memcheck --no-timing":    "--sanitize says what tools find",
		"compare softmax --sanitize memcheck --dump folder":  "--sanitize says what tools find",
		"bench softmax --profile it --burst":                 "--profile times nothing: --burst",
		"bench softmax --profile it --plan":                  "--profile times nothing: --plan",
		"compare softmax --plan --resume":                    "--plan runs and records nothing",
		"compare softmax --plan --sanitize memcheck":         "--plan runs and records nothing",
		"compare softmax --plan --junit it.xml":              "--plan runs and records nothing",
		"compare softmax --plan --add mine.cu --write":       "--plan runs and records nothing",
		"compare softmax --sanitize memcheck --write":        "--sanitize says what tools find",
		"compare softmax --write":                            "--write speaks of a file that --add names",
		"watch softmax --add mine.cu --write":                "unknown flag: --write",
		"compare softmax --sanitize memcheck --github":       "--sanitize says what tools find",
		"compare softmax --junit nowhere/it.xml":             "its folder is not there",
		"gradcheck softmax --junit it.xml":                   "unknown flag: --junit",
		"gradcheck softmax --plan --dump folder":             "--plan runs and records nothing",
		"bench softmax --plan --strict":                      "--plan runs and records nothing",
		"watch softmax --add mine.cu --plan":                 "unknown flag: --plan",
		"gradcheck softmax --no-timing":                      "unknown flag: --no-timing",
		"gradcheck softmax --pass forward":                   "gradcheck judges backwards",
		"watch softmax --add mine.cu --no-timing":            "unknown flag: --no-timing",
		"watch softmax --add mine.cu --quick --full":         "exclude each other",
		"watch softmax --add mine.cu --json":                 "--json and --resume are flags of compare",
		"setup --remove --nvcc":                              "exclude each other",
		"setup --nvcc --gpu folder":                          "exclude each other",
		"results query --schema --json":                      "--schema and --list stand alone",
		"results query --schema select":                      "--schema and --list stand alone",
		"results export --session nothing --format xml":      "want jsonl, sessions, md, csv, parquet",
	} {
		text, code := runTriad(t, strings.Fields(line)...)
		if code != int(session.ExitUsage) || !strings.Contains(text, says) {
			t.Errorf("triad %s: exit %d, want 2 and %q in\n%s", line, code, says, text)
		}
	}
}

// TestQuickBenchIsShort: a quick bench is short, unless its rounds or its budget are named.
func TestQuickBenchIsShort(t *testing.T) {
	for line, want := range map[string]string{
		"":                           "200 10s",
		"--quick":                    "60 1.5s",
		"--quick --rounds 9":         "9 1.5s",
		"--quick --budget 3s":        "60 3s",
		"--rounds 200 --budget 10ms": "200 10ms",
	} {
		var o bench.Options
		cmd := &cobra.Command{Use: "bench"}
		o.AddFlags(cmd)
		if err := cmd.ParseFlags(strings.Fields(line)); err != nil {
			t.Fatal(err)
		}
		p, err := o.Plan()
		if err != nil || fmt.Sprint(p.Rounds, " ", p.Budget) != want {
			t.Errorf("%q: %v %+v, want %s", line, err, p, want)
		}
	}
}
