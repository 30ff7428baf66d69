package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"triad"
	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/results"
)

// compareOptions are what a compare needs to know.
type compareOptions struct {
	caseFlags
	environmentFlags
	ownFlags
	json, resume, explain, verbose bool
	untimed, strict       bool
	sanitizers            []string // tools of compute-sanitizer
	verb, db, dump        string
	args                  []string // as typed
	after                 func(run.Result)
}

func (a *app) compareCommand() *cobra.Command {
	o := compareOptions{verb: "compare"}
	cmd := &cobra.Command{
		Use:   "compare OP...",
		Short: "run and judge every implementation of an operator",
		Long: `compare runs every implementation of one operator, of several, or of all, judges each output element by
element against an fp64 truth, records every result, and prints who is right, by how much, and where the
worst element is.`,
		Example: `  triad compare softmax
  triad compare softmax layernorm --quick --dtype bf16
  triad compare flash_attention --impl cuda --attr causal=true --dims seq_q=100,seq_kv=130
  triad compare all --quick --json`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return append(catalog.Names(), "all"), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, names []string) error {
			o.args = os.Args[min(1, len(os.Args)):]
			return a.compare(cmd.Context(), names, &o)
		},
	}
	o.add(cmd, "both")
	o.addOnGPU(cmd)
	return cmd
}

// addOnGPU gives compare the flags that speak of a GPU.
func (o *compareOptions) addOnGPU(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.untimed, "no-timing", false, "do not time what passed: the operator's first bench point, or the case that the flags name")
	cmd.Flags().StringSliceVar(&o.sanitizers, "sanitize", nil,
		"on a GPU: run CUDA kernels, those of --add too, under these tools of compute-sanitizer, e.g. memcheck,racecheck, or all")
}

// add gives a verb the flags of a run; pass is the default of --pass.
func (o *compareOptions) add(cmd *cobra.Command, pass string) {
	o.caseFlags.add(cmd, pass)
	o.environmentFlags.add(cmd)
	o.ownFlags.register(cmd)
	cmd.Flags().BoolVar(&o.json, "json", false, "one JSON object a line for each implementation and case (docs/json.md)")
	cmd.Flags().BoolVar(&o.resume, "resume", false, "finish the newest interrupted run of the same request")
	cmd.Flags().BoolVar(&o.explain, "explain", false, "for each output: what its contract promises, the worst elements, how the errors are distributed")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false,
		"a line for each dtype with its largest error, the cases that cannot tell right from wrong, and how far implementations lie apart")
	o.addStrict(cmd)
	cmd.Flags().StringVar(&o.dump, "dump", "", "write inputs, outputs, truth and allowance of every case as safetensors into this folder")
	cmd.Flags().StringVar(&o.db, "db", "", "the database (default: results.db in the user's data directory)")
}

func (o *compareOptions) addStrict(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.strict, "strict", false, "count KNOWN as bad: faults of libraries that a documented finding covers (triad ops findings)")
}

// compare runs one request from flags to exit code.
func (a *app) compare(ctx context.Context, names []string, o *compareOptions) error {
	request, err := o.request(names)
	if err != nil {
		return err
	}
	if _, err := a.databasePath(o.db); err != nil {
		return err
	}
	if len(o.sanitizers) > 0 {
		if o.resume || o.explain || o.dump != "" || o.untimed {
			return usage("--sanitize says what tools find: --resume, --explain, --dump and --no-timing are flags of a comparison without it")
		}
		return a.sanitize(ctx, request, o)
	}
	return a.judge(ctx, request, o)
}

// judge runs a request, records and prints what it finds, and turns that into an exit code.
func (a *app) judge(ctx context.Context, request run.Request, o *compareOptions) (err error) {
	options, err := o.workerOptions()
	if err != nil {
		return err
	}
	options.Doing = a.doing
	if err := (dumper{o.dump}).ready(); err != nil {
		return err
	}
	onGPU, err := a.chooseGPU(ctx, &o.caseFlags, o.environmentFlags)
	if err != nil {
		return err
	}
	onGPU.apply(&request.Options)
	backends, mine, refused, err := a.participants(ctx, &o.ownFlags, &request, onGPU, o.environmentFlags, options)
	if err != nil {
		return err
	}
	defer closeAll(backends) // where the run does not get so far
	a.tellMatched(mine, refused, o.json)
	store, err := a.openStore(ctx, o.db)
	if err != nil {
		return err
	}
	defer store.Close()
	kept := &recorder{ctx: context.WithoutCancel(ctx), store: store, resume: o.resume, info: a.session(canonical(strings.Join(append([]string{o.verb}, o.ownFlags.words()...), " "), request, &o.caseFlags), request, o)}
	defer kept.broken(&err, "in triad "+o.verb)
	kept.info.Machine = onGPU.describe(kept.info.Machine)
	kept.info.Added = o.ownFlags.wordsOf(mine)
	maps.Copy(kept.info.Toolchain, mine.versions(ctx))
	if o.resume {
		if err := kept.takeOver(); err != nil {
			return resumeFailure(err)
		}
		request.Seed, request.Before = kept.session.Info().Seed, kept.before
	}
	progress := a.progress(o.json)
	runner := &run.Runner{Backends: (&loading{tell: progress.preparing}).watched(backends), Recorder: kept, Stop: a.stop, Progress: progress.show}
	if o.dump != "" {
		runner.Dumper = dumper{o.dump}
	}
	request.Explain = o.explain
	done, err := a.timeToo(ctx, onGPU, o, &request, runner, kept)
	if err != nil {
		return err
	}
	result, err := runner.Compare(ctx, request)
	err = errors.Join(err, a.fault.get())
	var smallest []finding
	if err == nil && !o.json {
		smallest, err = a.shrink(ctx, mine, request, result)
	}
	if request.Timing != nil {
		kept.spent = a.spent(result, backends)
	}
	for _, b := range backends {
		err = errors.Join(err, b.Close())
	}
	done()
	progress.clear()
	if o.after != nil {
		o.after(result)
	}
	if u := (*op.UsageError)(nil); errors.As(err, &u) {
		return errors.Join(err, kept.finish(false, exitUsage, err))
	}
	if o.resume { // what is wrong stays wrong when the rest is run later
		err = errors.Join(err, kept.complete(&result))
	}
	end := endOf(result, refused, err, o.strict)
	err = kept.finish(err == nil && !result.Interrupted, end.code, err)
	err = errors.Join(err, a.printCompare(ctx, store, kept, result, o, end))
	return end.failure(errors.Join(err, a.tellSmallest(smallest, kept.info.Added)))
}

// closeAll ends the workers of all backends; those that ended already stay so.
func closeAll(backends []backend.Backend) {
	for _, b := range backends {
		_ = panics.Call(func() { _ = b.Close() }) // what it would say was said when the run ended
	}
}

func resumeFailure(err error) error {
	if errors.Is(err, results.ErrNothingToResume) {
		return usage("--resume: no interrupted session has this request; run it without --resume")
	}
	return &failure{exitBad, err}
}

// printCompare prints a result as a table, or as JSON lines.
func (a *app) printCompare(ctx context.Context, store *results.Store, kept *recorder, result run.Result, o *compareOptions, end ending) error {
	if kept.session == nil {
		if result.Interrupted {
			fmt.Fprintln(a.err, "triad: stopped before anything was run")
		}
		return nil
	}
	if err := a.printSteps(result.Steps, o.json); err != nil {
		return err
	}
	if o.json {
		for _, r := range result.Records {
			if err := report.JSON(a.out, r); err != nil {
				return err
			}
		}
		return nil
	}
	if o.explain {
		if err := report.Explain(a.out, a.style(), result.Records); err != nil {
			return err
		}
	}
	return report.Compare(a.out, a.style(), result.Records, result.Differences, report.Summary{
		Session: kept.session.ID(), Seed: kept.session.Info().Seed, Exit: int(end.code), Database: store.Path(), Reason: end.reason,
		Findings: goneOf(result), Timed: timed(result), Spent: kept.spent, Power: powerOf(result), Details: o.verbose || o.explain,
	})
}

func powerOf(result run.Result) report.Power {
	p := result.Power
	return report.Power{Cases: p.Cases, Powered: p.Cases - len(p.Powerless), Trivial: len(p.Trivial)}
}

// session describes this invocation.
func (a *app) session(request string, r run.Request, o *compareOptions) record.Session {
	return record.Session{Request: request, Command: o.args, Version: triad.Version, Commit: commit(), Level: r.Options.Level.String(), Seed: r.Seed,
		Machine: machine(), Toolchain: record.Toolchain{"triad": triad.Version, "go": goVersion()}}
}

// openStore opens the database that a flag names, or the user's own.
func (a *app) openStore(ctx context.Context, path string) (*results.Store, error) {
	named := path != ""
	path, err := a.databasePath(path)
	if err != nil {
		return nil, err
	}
	store, err := results.Open(ctx, path, results.Options{})
	if err != nil {
		return nil, storeFailure(err, named)
	}
	if notice := store.Notice(); notice != "" {
		fmt.Fprintf(a.err, "triad: %s\n", strings.TrimSpace(notice))
	}
	return store, nil
}

// storeFailure is the exit code of a database that cannot be opened: a file that --db names and that cannot be one is the command line's mistake,
// the user's own that cannot be written now is not here, and a damaged one is wrong.
func storeFailure(err error, named bool) error {
	var place *fs.PathError // a folder that cannot be made, or a path through a file
	denied := errors.As(err, &place) || errors.Is(err, results.ErrReadOnly) || errors.Is(err, results.ErrPlace)
	switch {
	case named && (denied || errors.Is(err, results.ErrForeign)):
		return &failure{exitUsage, err}
	case denied || errors.Is(err, results.ErrBusy) || errors.Is(err, results.ErrFull):
		return &failure{exitNothing, err}
	}
	return &failure{exitBad, err}
}

// databasePath is the file that a flag names, or the user's own.
func (a *app) databasePath(path string) (string, error) {
	if path != "" {
		folder := filepath.Dir(path)
		info, err := os.Stat(folder)
		switch {
		case err != nil:
			return "", usage("--db %s: its folder cannot be used: %w; make it, or give another file", path, err)
		case !info.IsDir():
			return "", usage("--db %s: %s is no folder; give another file", path, folder)
		}
		return path, nil
	}
	data, err := a.dataDir()
	return filepath.Join(data, "results.db"), err
}
