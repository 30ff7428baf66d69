package completion

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"triad/cuda/gpuworker"
	"triad/internal/catalog"
	"triad/internal/console"
	"triad/internal/newoperator"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/rownames"
	"triad/internal/worker"
	"triad/results"
)

// files maps flags to the endings of the files that they name.
var files = map[string][]string{
	"add": {"cu", "cuh", "py"}, "db": {"db"}, "sarif": {"sarif", "json"}, "junit": {"xml"},
}

// paths are flags that name any file or folder.
var paths = []string{"output", "dump", "parts", "include", "into", "wheels", "profile", "gpu", "write"}

// newest limits how many sessions and runs are proposed.
const newest = 20

// source reads values from the catalog and the database.
type source struct{ *console.Console }

// flags maps flags to their values. The one of a command stands behind its name.
func (s source) flags() map[string]values {
	return map[string]values{
		"--pass": of("forward", "backward", "both"), "--device": of("auto", "cpu", "gpu"),
		"check --device":         of("cpu", "gpu"),
		"results list --pass":    of("forward", "backward"),
		"results history --pass": of("forward", "backward"),
		"--dtype":                ofSpecs(func(s *op.Spec) []string { return s.DTypes }),
		"--distribution":         ofSpecs(func(s *op.Spec) []string { return s.Check.Distributions }),
		"--layout":               ofSpecs((*op.Spec).Layouts),
		"--contract":             ofSpecs(func(s *op.Spec) []string { return s.Contract.Permits }),
		"--attr":                 ofSpecs(attributes), "--dims": ofSpecs(dims),
		"--upstream": of(op.Upstreams...), "--saved": of("driver", "own"),
		"results query --saved": s.savedQueries, "--seed": of("random"),
		"--impl": s.implementations, "--limit": limits(worker.LimitNames()...),
		"check --limit":    limits("run", "stall", "all"),
		"import --limit":   of(),
		"--sanitize":       of(append(slices.Clone(gpuworker.Sanitizers), "all")...),
		"check --sanitize": of("address", "thread", "all"),
		"check --arch":     of("sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"),
		"check --std":      of("c++17", "c++20", "c++23"),
		"--on":             of("slurm", "ray"), "--gpus": of("all"), "--regime": of("cold", "warm"),
		"--status": of(statuses()...), "--op": s.recorded, "--session": s.sessions, "--against": s.sessions,
		"--format": of("table", "csv", "json", "md"),
		"results export --format": of("jsonl", "sessions", "md", "csv", "parquet", "bench", "flashinfer",
			"kernelbench", "db"),
		"--kind": of(report.FigureKinds...),
		"--from": operators, "--kernels": operators, "--family": of(newoperator.Families()...),
		"--since": of("1h", "1d", "7d", "30d"),
	}
}

// arguments maps commands to what they take.
func (s source) arguments() map[string]argument {
	operatorsOrAll := func(ctx context.Context, cmd *cobra.Command, names []string) []string {
		return append(operators(ctx, cmd, names), "all\tevery operator")
	}
	pages := func(ctx context.Context, cmd *cobra.Command, names []string) []string {
		return slices.Concat(s.recorded(ctx, cmd, names), s.sessions(ctx, cmd, names))
	}
	variants := func(ctx context.Context, _ *cobra.Command, _ []string) []string {
		var all []string
		for _, name := range catalog.Names() {
			for _, row := range rownames.Of(s.Files, name) {
				if variant, ok := strings.CutPrefix(row, "cuda/"); ok {
					all = append(all, name+"/"+variant)
				}
			}
		}
		return all
	}
	return map[string]argument{
		"compare": {all: operatorsOrAll, files: true}, "gradcheck": {all: operatorsOrAll, files: true},
		"bench": {all: operatorsOrAll, files: true}, "watch": {most: 1, all: operators, files: true},
		"check": {all: operators, files: true}, "ops show": {most: 1, all: operators, files: true},
		"sass": {most: 1, all: variants}, "results history": {most: 1, all: s.recorded},
		"results report": {most: 2, all: pages}, "results plot": {most: 1, all: pages},
		"results diff": {most: 2, all: s.sessions, files: true}, "results show": {most: 1, all: s.runs},
		"results query": {all: of()}, "new": {all: of()},
	}
}

// operators are those of the catalog, each with its summary.
func operators(context.Context, *cobra.Command, []string) []string {
	var names []string
	for _, o := range catalog.All() {
		names = append(names, o.Spec.Name+"\t"+o.Spec.Summary)
	}
	return names
}

// named returns the operators of the catalog that the arguments name, all if none is.
func named(names []string) []*catalog.Operator {
	var all []*catalog.Operator
	for _, name := range names {
		if o, err := catalog.Find(name); err == nil {
			all = append(all, o)
		}
	}
	if len(all) == 0 {
		return catalog.All()
	}
	return all
}

// ofSpecs are the values that any of the named operators has.
func ofSpecs(words func(*op.Spec) []string) values {
	return func(_ context.Context, _ *cobra.Command, names []string) []string {
		var all []string
		for _, o := range named(names) {
			for _, word := range words(o.Spec) {
				if !slices.Contains(all, word) {
					all = append(all, word)
				}
			}
		}
		return all
	}
}

func attributes(s *op.Spec) []string {
	var all []string
	for _, a := range s.Attributes {
		switch {
		case a.Type == "bool":
			all = append(all, a.Name+"=true", a.Name+"=false")
		case len(a.Values) > 0:
			for _, value := range a.Values {
				all = append(all, a.Name+"="+value)
			}
		default:
			all = append(all, a.Name+"=")
		}
	}
	return all
}

func dims(s *op.Spec) []string {
	var all []string
	for _, d := range s.Dims {
		all = append(all, d.Name+"=")
	}
	return all
}

func limits(names ...string) values {
	all := make([]string, len(names))
	for i, name := range names {
		all[i] = name + "="
	}
	return of(all...)
}

func statuses() []string {
	var names []string
	for _, s := range op.Statuses() {
		names = append(names, s.String())
	}
	return names
}

// implementations are the families and the rows of the named operators. A verb that reads the database, or
// has no operator, has the families and what is recorded.
func (s source) implementations(ctx context.Context, cmd *cobra.Command, names []string) []string {
	all := append(slices.Clone(rownames.Families), "mine")
	if slices.Contains([]string{"compare", "gradcheck", "bench", "watch"}, cmd.Name()) && len(names) > 0 {
		for _, o := range named(names) {
			all = append(all, rownames.Of(s.Files, o.Spec.Name)...)
		}
	} else if store := s.store(ctx, cmd); store != nil {
		defer store.Close()
		if found, err := store.Recorded(ctx); err == nil {
			all = append(all, found.Impls...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// store opens the database of a command, nil if there is none: a shell has nothing to propose then.
func (s source) store(ctx context.Context, cmd *cobra.Command) *results.Store {
	db := ""
	if f := cmd.Flag("db"); f != nil {
		db = f.Value.String()
	}
	store, err := s.ReadStore(ctx, db)
	if err != nil {
		return nil
	}
	return store
}

// recorded are the operators of the catalog and those of records.
func (s source) recorded(ctx context.Context, cmd *cobra.Command, _ []string) []string {
	all := catalog.Names()
	if store := s.store(ctx, cmd); store != nil {
		defer store.Close()
		if found, err := store.Recorded(ctx); err == nil {
			all = append(all, found.Ops...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sessions are the newest sessions, each with its command.
func (s source) sessions(ctx context.Context, cmd *cobra.Command, _ []string) []string {
	all := []string{"last\tthe newest session", "last~1\tthe one before it"}
	store := s.store(ctx, cmd)
	if store == nil {
		return all
	}
	defer store.Close()
	found, err := store.Sessions(ctx, "", newest)
	if err != nil {
		return all
	}
	for _, one := range found {
		all = append(all, one.Session.ID+"\t"+record.CommandLine(one.Session.Command))
	}
	return all
}

// runs are the newest runs, each with what it is of.
func (s source) runs(ctx context.Context, cmd *cobra.Command, _ []string) []string {
	all := []string{"last\tthe newest run", "last~1\tthe one before it"}
	store := s.store(ctx, cmd)
	if store == nil {
		return all
	}
	defer store.Close()
	found, _, err := store.List(ctx, results.Filter{Limit: newest})
	if err != nil {
		return all
	}
	for _, r := range found {
		all = append(all, fmt.Sprintf("%s\t%s/%s %s %s", r.ID, r.Case.Op, r.Impl, r.Case.DType, r.Status))
	}
	return all
}

// savedQueries are the queries that --saved runs, each with its question.
func (s source) savedQueries(context.Context, *cobra.Command, []string) []string {
	all, err := s.SavedQueries()
	if err != nil {
		return nil
	}
	var names []string
	for _, n := range all {
		names = append(names, n.Name+"\t"+n.Question)
	}
	return names
}
