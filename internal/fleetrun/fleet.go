// Package fleetrun runs compare, gradcheck and bench on other machines or on several GPUs: it cuts a request
// into tasks, which internal/fleet hands over, runs a task's part there, and prints the union.
package fleetrun

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"triad"
	"triad/cuda/build"
	"triad/internal/console"
	"triad/internal/fleet"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/session"
	"triad/pybridge"
	"triad/results"
)

// onFleet is one run on other machines.
type onFleet struct {
	*runsetup.Setup
	o       *runsetup.Options
	request run.Request
	store   *results.Store
	session *results.Session
	began   time.Time
}

// verb runs a verb on other machines, or on several GPUs.
type verb struct{ *runsetup.Setup }

// Compare is compare and gradcheck on other machines.
func Compare(ctx context.Context, s *runsetup.Setup, request run.Request, o *runsetup.Options) error {
	return (&verb{s}).compareOn(ctx, request, o)
}

// Bench is bench on other machines; words hold the verb and what decides what it times.
func Bench(ctx context.Context, s *runsetup.Setup, request run.Request, o *runsetup.Options,
	words []string,
) error {
	return (&verb{s}).benchOn(ctx, request, o, words)
}

// compareOn is compare and gradcheck on other machines.
func (a *verb) compareOn(ctx context.Context, request run.Request, o *runsetup.Options) error {
	if err := errors.Join(o.CheckOn(request), o.ReadyForCI()); err != nil {
		return err
	}
	if err := a.chooseGPUs(ctx, o); err != nil {
		return err
	}
	if o.Verb == "compare" && o.Own.Many {
		return a.compareFilesOn(ctx, request, o)
	}
	tell := func(r *onFleet, result run.Result, s report.Summary) (err error) {
		if o.JSON {
			err = report.JSONLines(a.Out, result.Records)
		} else {
			err = report.Compare(a.Out, a.Style(), result.Records, result.Differences, s)
		}
		return errors.Join(err, a.WriteCI(o, result, r.session.Info().Added))
	}
	return a.onFleet(ctx, request, o, []string{o.Verb}, tell)
}

// benchOn is bench on other machines.
func (a *verb) benchOn(ctx context.Context, request run.Request, o *runsetup.Options,
	words []string,
) error {
	if err := o.CheckOn(request); err != nil {
		return err
	}
	if err := a.chooseGPUs(ctx, o); err != nil {
		return err
	}
	return a.onFleet(ctx, request, o, words,
		func(_ *onFleet, result run.Result, s report.Summary) error {
			if o.JSON {
				return report.JSONLines(a.Out, result.Records)
			}
			return report.Bench(a.Out, a.Style(), result.Records, runsetup.Timed(result), s)
		})
}

// onFleet starts or resumes the session, drives its tasks, and prints the union.
func (a *verb) onFleet(ctx context.Context, request run.Request, o *runsetup.Options, words []string,
	tell func(*onFleet, run.Result, report.Summary) error,
) error {
	r, err := a.beginOn(ctx, request, o, slices.Concat(words, o.Own.Words()), o.Own.Add)
	if err != nil {
		return err
	}
	defer r.store.Close()
	ended, err := r.drive(ctx)
	return r.end(context.WithoutCancel(ctx), ended, err, tell)
}

// beginOn starts or resumes the session of a run on other machines; added holds its words of files.
func (a *verb) beginOn(ctx context.Context, request run.Request, o *runsetup.Options, words, added []string,
) (r *onFleet, err error) {
	r = &onFleet{Setup: a.Setup, o: o, request: request, began: time.Now()}
	if r.store, err = a.OpenStore(ctx, o.DB); err != nil {
		return nil, err
	}
	words = slices.Concat(words, o.On.Words())
	so := runsetup.SessionOptions{Options: o}
	info := a.SessionInfo(ctx, runsetup.Canonical(strings.Join(words, " "), request, &o.CaseFlags), request,
		&so)
	info.Added = added
	if o.Resume {
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
		Session: r.session.ID(), Version: triad.Version, Kernels: build.SourcesHash(r.Files),
		Host: hostName(), Shards: r.o.On.Shards, Files: rooted(r.o.Own.Add),
		Many: r.o.Own.Many && r.o.Verb == "compare",
	}
	plan.Claimed = r.o.On.Gpus != "" && !plan.Many
	r.spread(&plan)
	if plan.Args, err = r.o.Forwarded(r.request, r.session.Info().Seed); err != nil {
		return ended, err
	}
	if err := folder.Create(plan); err != nil {
		return ended, session.Fail(session.ExitNothing, err)
	}
	engine, done, err := r.engine(ctx, folder, plan.SpreadShard())
	if err != nil {
		return ended, err
	}
	defer done()
	progress := r.Progress()
	defer progress.Clear()
	d := fleet.Driver{
		Folder: folder, Plan: plan, Engine: engine, Stop: r.Stop, Every: r.o.On.Every(),
		Merge: func(ctx context.Context, part string) error {
			_, err := r.store.Merge(context.WithoutCancel(ctx), part)
			return err
		},
		Progress: func(done, all int) {
			p := run.Progress{Case: done, Cases: all, Elapsed: time.Since(r.began)}
			if plan.Claimed {
				p = run.Progress{Text: fmt.Sprintf("%d cases begun on %d GPUs", folder.Claimed(),
					len(r.o.On.Visible))}
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
		if r.o.On.Parts == "" {
			os.Remove(filepath.Dir(string(folder))) // where no other run has parts
		}
	}
	return ended, err
}

// folder returns the folder that collects the parts of the session.
func (r *onFleet) folder() (fleet.Folder, error) {
	parent := r.o.On.Parts
	if parent == "" {
		parent = r.store.Path() + "-parts"
	} else if info, err := os.Stat(parent); err != nil || !info.IsDir() {
		return "", console.Usage("--parts %s: it is no folder: name one that all machines see", parent)
	}
	parent, err := filepath.Abs(parent)
	return fleet.Folder(filepath.Join(parent, r.session.ID())), err
}

// engine starts the engine that hands over tasks; done ends it. spread is the shard that has all GPUs.
func (r *onFleet) engine(
	ctx context.Context,
	folder fleet.Folder,
	spread int,
) (engine fleet.Engine, done func(), err error) {
	triad, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("find triad itself: %w", err)
	}
	if r.o.On.Gpus != "" {
		return localEngine(&r.o.On, triad, spread), func() {}, nil
	}
	if name, address, _ := strings.Cut(r.o.On.Engine, ":"); name == "ray" {
		return r.ray(ctx, folder, triad, address)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, nil, fmt.Errorf("find the working directory: %w", err)
	}
	return &fleet.Slurm{Triad: triad, Dir: dir, Options: strings.Fields(r.o.On.Slurm)}, func() {}, nil
}

// ray connects to a Ray cluster.
func (r *onFleet) ray(ctx context.Context, folder fleet.Folder, triad, address string) (fleet.Engine, func(),
	error,
) {
	brought, err := filesToBring(r.o.Own.Add)
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
		return nil, nil, session.Fail(session.ExitNothing, fmt.Errorf("--on %s: %w", r.o.On.Engine, err))
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
		Strict: r.o.Strict, Added: len(r.o.Own.Add) > 0,
	})
	for _, f := range ended.Failed {
		if code := session.ExitCode(f.Outcome.Exit); code == session.ExitUsage && len(result.Records) == 0 {
			end.Code = code
		} else if end.Code != session.ExitBad {
			end.Code = session.ExitNothing
		}
		end.Reason = fmt.Sprintf("Shard %d of %d was not done: %s", f.Shard, r.o.On.Shards, f.Outcome.Reason)
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
		Reason: end.Reason, Timed: runsetup.Timed(result), Power: power,
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
	result.Unavailable = run.Unavailable(r.request.Impls, result.Records)
	var comparisons, ceilings error
	result.Comparisons, comparisons = r.store.Comparisons(ctx, id)
	result.Ceilings, ceilings = r.store.Ceilings(ctx, id)
	return result, errors.Join(comparisons, ceilings)
}
