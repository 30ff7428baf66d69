package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"triad"
	"triad/cmd/triad/console"
	"triad/cuda"
	"triad/internal/fleet"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/session"
	"triad/pybridge"
	"triad/results"
)

// onFlags holds the flags that hand a run to other machines.
type onFlags struct {
	engine, slurm, parts string
	gpus                 string
	visible              []string // CUDA_VISIBLE_DEVICES for each of the GPUs
	shards               int
	given                *pflag.FlagSet // of the verb
}

func (f *onFlags) add(cmd *cobra.Command) {
	f.given = cmd.Flags()
	cmd.Flags().StringVar(&f.engine, "on", "", "run on other machines: slurm, ray, or ray:ADDRESS of a "+
		"cluster (docs/fleet.md)")
	cmd.Flags().IntVar(&f.shards, "shards", 8, "with --on: cut the plan into so many tasks")
	cmd.Flags().StringVar(&f.slurm, "slurm", "",
		"with --on slurm: options for sbatch, e.g. \"--partition=h200 --gres=gpu:1\"")
	cmd.Flags().StringVar(&f.parts, "parts", "",
		"with --on: a folder that all machines see (default: beside the database)")
	f.addGPUs(cmd)
}

// name returns the engine without the address of its cluster.
func (f *onFlags) name() string {
	name, _, _ := strings.Cut(f.engine, ":")
	return name
}

// local lists the flags that the driver handles itself.
var local = []string{
	"on", "shards", "slurm", "parts", "gpus", "db", "json", "resume", "junit", "github", "seed", "strict",
	"add",
}

// checkOn rejects what a run on other machines, or on several GPUs, does not support.
func (o *compareOptions) checkOn(request run.Request) error {
	check := o.on.checkEngine
	if o.on.gpus != "" {
		check = o.checkGPUs
	}
	if err := check(); err != nil {
		return err
	}
	switch f := o.on; {
	case o.shard != "" || o.planOnly || o.explain || o.verbose || len(o.sanitizers) > 0 ||
		o.dump+o.against != "":
		return console.Usage(
			"--on and --gpus cut the run themselves and print the union: --shard, --plan, --explain, " +
				"--verbose, --sanitize, --dump and --against are flags of a run in one process",
		)
	case f.name() == "ray" && strings.Contains(strings.Join(o.ownFlags.nvccFlags, " "), "-I"):
		return console.Usage(
			"--on ray brings a file and what it includes from its own folder to the nodes, and not " +
				"the folders of -I: put the headers beside the file",
		)
	case folderOf(&request) != nil:
		return console.Usage(
			"--on and --gpus judge operators of the catalog: run a folder's operator in one process")
	}
	return nil
}

// checkEngine rejects combinations of an engine's flags.
func (f *onFlags) checkEngine() error {
	switch {
	case f.engine != "slurm" && f.name() != "ray":
		return console.Usage("--on %q: want slurm, ray, or ray:ADDRESS", f.engine)
	case f.slurm != "" && f.engine != "slurm":
		return console.Usage("--slurm has options for sbatch: it is a flag of --on slurm")
	case f.shards < 1 || f.shards > mostShards:
		return console.Usage("--shards %d: want a number from 1 to %d", f.shards, mostShards)
	}
	return nil
}

// forwarded returns the command line of the tasks: what was typed, without what the driver handles itself.
func (o *compareOptions) forwarded(r run.Request, seed uint64) ([]string, error) {
	args := []string{o.verb}
	for _, operator := range r.Operators {
		args = append(args, operator.Spec.Name)
	}
	var err error
	o.on.given.Visit(func(f *pflag.Flag) {
		if slices.Contains(local, f.Name) {
			return
		}
		values := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			if f.Value.Type() == "stringSlice" { // read as CSV again
				var text strings.Builder
				w := csv.NewWriter(&text)
				err = errors.Join(err, w.Write([]string{value}))
				w.Flush()
				value = strings.TrimSuffix(text.String(), "\n")
			}
			args = append(args, "--"+f.Name+"="+value)
		}
	})
	if f := o.ownFlags; len(f.add) > 0 && !f.sandbox && !f.noSandbox && o.on.engine != "" {
		args = append(args, "--sandbox") // the sender of files to other machines need not have written them
	}
	if o.on.gpus != "" {
		args = append(args, "--device=gpu")
	}
	return append(args, "--seed="+strconv.FormatUint(seed, 10)), err
}

// onFleet is one run on other machines.
type onFleet struct {
	*app
	o       *compareOptions
	request run.Request
	store   *results.Store
	session *results.Session
	began   time.Time
}

// compareOn is compare and gradcheck on other machines.
func (a *app) compareOn(ctx context.Context, request run.Request, o *compareOptions) error {
	if err := errors.Join(o.checkOn(request), o.readyForCI()); err != nil {
		return err
	}
	if err := a.chooseGPUs(ctx, o); err != nil {
		return err
	}
	if o.verb == "compare" && o.ownFlags.many {
		return a.compareFilesOn(ctx, request, o)
	}
	tell := func(r *onFleet, result run.Result, s report.Summary) (err error) {
		if o.json {
			err = report.JSONLines(a.Out, result.Records)
		} else {
			err = report.Compare(a.Out, a.Style(), result.Records, result.Differences, s)
		}
		return errors.Join(err, a.writeCI(o, result, r.session.Info().Added),
			a.tellPage(r.session.ID(), result, o))
	}
	return a.onFleet(ctx, request, o, []string{o.verb}, tell)
}

// benchOn is bench on other machines.
func (a *app) benchOn(ctx context.Context, request run.Request, o *benchOptions) error {
	if err := o.checkOn(request); err != nil {
		return err
	}
	if err := a.chooseGPUs(ctx, &o.compareOptions); err != nil {
		return err
	}
	return a.onFleet(ctx, request, &o.compareOptions, o.words(request.Timing),
		func(_ *onFleet, result run.Result, s report.Summary) error {
			if o.json {
				return report.JSONLines(a.Out, result.Records)
			}
			return report.Bench(a.Out, a.Style(), result.Records, timed(result), s)
		})
}

// onFleet starts or resumes the session, drives its tasks, and prints the union.
func (a *app) onFleet(ctx context.Context, request run.Request, o *compareOptions, words []string,
	tell func(*onFleet, run.Result, report.Summary) error,
) error {
	r, err := a.beginOn(ctx, request, o, slices.Concat(words, o.ownFlags.words()), o.ownFlags.add)
	if err != nil {
		return err
	}
	defer r.store.Close()
	ended, err := r.drive(ctx)
	return r.end(context.WithoutCancel(ctx), ended, err, tell)
}

// beginOn starts or resumes the session of a run on other machines; added holds its words of files.
func (a *app) beginOn(ctx context.Context, request run.Request, o *compareOptions, words, added []string,
) (r *onFleet, err error) {
	r = &onFleet{app: a, o: o, request: request, began: time.Now()}
	if r.store, err = a.OpenStore(ctx, o.db); err != nil {
		return nil, err
	}
	words = slices.Concat(words, o.on.words())
	so := sessionOptions{compareOptions: o}
	info := a.sessionInfo(ctx, canonical(strings.Join(words, " "), request, &o.caseFlags), request, &so)
	info.Added = added
	if o.resume {
		if r.session, _, err = r.store.Resume(ctx, info.Request); err != nil {
			err = session.ResumeFailure(err)
		}
	} else if r.session, err = r.store.Start(ctx, info, nil); err != nil {
		err = session.Fail(session.ExitBad, err)
	}
	if err != nil {
		return nil, errors.Join(err, r.store.Close())
	}
	return r, nil
}

// drive runs the open shards and merges their parts.
func (r *onFleet) drive(ctx context.Context) (ended fleet.Ended, err error) {
	folder, err := r.folder()
	if err != nil {
		return ended, err
	}
	plan := fleet.Plan{
		Session: r.session.ID(), Version: triad.Version, Kernels: cuda.SourcesHash(r.Files),
		Host: hostName(), Shards: r.o.on.shards, Files: rooted(r.o.ownFlags.add),
		Many: r.o.ownFlags.many && r.o.verb == "compare",
	}
	plan.Claimed = r.o.on.gpus != "" && !plan.Many
	if plan.Args, err = r.o.forwarded(r.request, r.session.Info().Seed); err != nil {
		return ended, err
	}
	if err := folder.Create(plan); err != nil {
		return ended, session.Fail(session.ExitNothing, err)
	}
	engine, done, err := r.engine(ctx, folder)
	if err != nil {
		return ended, err
	}
	defer done()
	progress := r.Progress()
	defer progress.Clear()
	d := fleet.Driver{
		Folder: folder, Plan: plan, Engine: engine, Stop: r.Stop, Every: r.o.on.every(),
		Merge: func(ctx context.Context, part string) error {
			_, err := r.store.Merge(context.WithoutCancel(ctx), part)
			return err
		},
		Progress: func(done, all int) {
			p := run.Progress{Case: done, Cases: all, Elapsed: time.Since(r.began)}
			if plan.Claimed {
				p = run.Progress{Text: fmt.Sprintf("%d cases begun on %d GPUs", folder.Claimed(), all)}
			}
			progress.Show(p)
		},
		Tell: func(sentence string) {
			progress.Clear()
			fmt.Fprintln(r.Err, "triad:", sentence)
		},
	}
	ended, err = d.Run(ctx)
	if refused := (*fleet.EngineError)(nil); errors.As(err, &refused) {
		err = session.Fail(session.ExitNothing, err)
	}
	if err == nil && !ended.Stopped && len(ended.Failed) == 0 {
		err = os.RemoveAll(string(folder)) // all of it is in the database
		if r.o.on.parts == "" {
			os.Remove(filepath.Dir(string(folder))) // where no other run has parts
		}
	}
	return ended, err
}

// folder returns the folder that collects the parts of the session.
func (r *onFleet) folder() (fleet.Folder, error) {
	parent := r.o.on.parts
	if parent == "" {
		parent = r.store.Path() + "-parts"
	} else if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		return "", console.Usage("--parts %s: it is no folder: name one that all machines see", parent)
	}
	parent, err := filepath.Abs(parent)
	return fleet.Folder(filepath.Join(parent, r.session.ID())), err
}

// engine starts the engine that hands over tasks; done ends it.
func (r *onFleet) engine(
	ctx context.Context,
	folder fleet.Folder,
) (engine fleet.Engine, done func(), err error) {
	triad, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find triad itself: %w", err)
	}
	if r.o.on.gpus != "" {
		return r.o.on.local(triad), func() {}, nil
	}
	if name, address, _ := strings.Cut(r.o.on.engine, ":"); name == "ray" {
		return r.ray(ctx, folder, triad, address)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, fmt.Errorf("find the working directory: %w", err)
	}
	return &fleet.Slurm{Triad: triad, Dir: dir, Options: strings.Fields(r.o.on.slurm)}, func() {}, nil
}

// ray connects to a Ray cluster.
func (r *onFleet) ray(ctx context.Context, folder fleet.Folder, triad, address string) (fleet.Engine, func(),
	error,
) {
	brought, err := filesToBring(r.o.ownFlags.add)
	if err != nil {
		return nil, nil, err
	}
	cache, err := r.CacheDir()
	if err != nil {
		return nil, nil, err
	}
	script, err := pybridge.RayEngine(r.Files, cache)
	if err != nil {
		return nil, nil, err
	}
	python, err := pybridge.PythonWithRay(ctx, r.Getenv)
	if err != nil {
		return nil, nil, session.ToolchainFailure(err)
	}
	engine := &fleet.Ray{
		Python: python, Script: script, Triad: triad, Address: address, Folder: folder, Files: brought,
	}
	if r.o.Device == "gpu" {
		engine.GPUs = 1
	}
	if err := engine.Start(ctx); err != nil {
		engine.Close()
		return nil, nil, session.Fail(session.ExitNothing, fmt.Errorf("--on %s: %w", r.o.on.engine, err))
	}
	return engine, engine.Close, nil
}

// end prints the union of the results and ends the session.
func (r *onFleet) end(ctx context.Context, ended fleet.Ended, err error,
	tell func(*onFleet, run.Result, report.Summary) error,
) error {
	result, read := r.union(ctx, ended)
	err = errors.Join(err, read)
	if err != nil && len(result.Records) == 0 { // there is nothing to print
		end := session.Ending{Code: session.CodeOf(err), Err: err}
		return end.Failure(r.session.Finish(ctx, false, int(end.Code)))
	}
	end := session.EndingOf(result, nil, err, session.Rules{
		Strict: r.o.strict, Added: len(r.o.ownFlags.add) > 0,
	})
	for _, f := range ended.Failed {
		if code := session.ExitCode(f.Outcome.Exit); code == session.ExitUsage && len(result.Records) == 0 {
			end.Code = code
		} else if end.Code != session.ExitBad {
			end.Code = session.ExitNothing
		}
		end.Reason = fmt.Sprintf("Shard %d of %d was not done: %s", f.Shard, r.o.on.shards, f.Outcome.Reason)
	}
	var power report.Power
	for _, o := range ended.Complete {
		if o.Exit == int(session.ExitBad) { // such as a truth that is not proven
			end.Code = session.ExitBad
		}
		power.Cases, power.Powered = power.Cases+o.Power.Cases, power.Powered+o.Power.Powered
		power.Trivial += o.Power.Trivial
	}
	complete := err == nil && !result.Interrupted && len(ended.Failed) == 0
	err = errors.Join(r.session.Finish(ctx, complete, int(end.Code)), tell(r, result, report.Summary{
		Session: r.session.ID(), Seed: r.session.Info().Seed, Exit: int(end.Code), Database: r.store.Path(),
		Reason: end.Reason, Timed: timed(result), Power: power,
	}))
	return end.Failure(err)
}

// union returns the results of all parts, as a run on one machine has them.
func (r *onFleet) union(ctx context.Context, ended fleet.Ended) (result run.Result, err error) {
	id := r.session.ID()
	result.Interrupted = ended.Stopped
	if result.Records, _, err = r.store.List(ctx, results.Filter{Session: id, Limit: -1}); err != nil {
		return result, err
	}
	slices.Reverse(result.Records)
	if len(r.request.Impls) > 0 {
		result.Unavailable = unavailable(result.Records)
	}
	var comparisons, rulers error
	result.Comparisons, comparisons = r.store.Comparisons(ctx, id)
	result.Rulers, rulers = r.store.Rulers(ctx, id)
	return result, errors.Join(comparisons, rulers)
}

// unavailable returns the sentences about what was requested by name and is missing.
func unavailable(records []record.Record) (sentences []string) {
	for _, r := range records {
		if r.Status == op.StatusUnavailable && !slices.Contains(sentences, r.Message) {
			sentences = append(sentences, r.Message)
		}
	}
	return sentences
}
