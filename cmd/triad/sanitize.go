package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"triad/cuda/gpuworker"
	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/worker"
	"triad/results"
)

// sanitized is what came of a run under one tool.
type sanitized struct {
	gpuworker.Report
	Calls  int      `json:"calls"`  // launches that the tool watched
	Called []string `json:"called"` // implementation and pass of each kernel that ran
	Never  []string `json:"never"`  // and of those that no case of this level reached, with the reason of one
	Bad    int      `json:"bad"`    // records that are bad: under a tool a kernel is judged as ever
	Part   bool     `json:"part"`   // the run was stopped before its plan was done

	// Of the compiled kernels, each a variant, dtype, pass and size of its own; all empty where the worker cannot tell what a call launches.
	Watched int      `json:"watched"` // ran under the tool
	Missed  []string `json:"missed"`  // some case launches it, but none did under the tool
	Beyond  []string `json:"beyond"`  // no case launches it
}

// good says whether the run shows that the kernels are clean.
func (s sanitized) good() bool {
	return s.Clean() && s.Bad == 0 && !s.Part && len(s.Called) > 0 && len(s.Missed) == 0
}

// sanitizerSlowness is how many times longer a worker may take under a tool.
const sanitizerSlowness = 20

// sanitizerTools checks --sanitize.
func sanitizerTools(words []string) ([]string, error) {
	if slices.Contains(words, "all") {
		return gpuworker.Sanitizers, nil
	}
	for _, word := range words {
		if !slices.Contains(gpuworker.Sanitizers, word) {
			return nil, usage("--sanitize %q: want all, or of %s", word, strings.Join(gpuworker.Sanitizers, ", "))
		}
	}
	return words, nil
}

// sanitize runs CUDA kernels under tools of compute-sanitizer, side by side, and prints what they found.
func (a *app) sanitize(ctx context.Context, request run.Request, o *compareOptions) error {
	tools, err := sanitizerTools(o.sanitizers)
	if err != nil {
		return err
	}
	if err := narrowToCUDA(&request, &o.ownFlags); err != nil {
		return err
	}
	onGPU, err := a.chooseGPU(ctx, &o.caseFlags, o.environmentFlags)
	if err != nil {
		return err
	}
	if onGPU == nil {
		return &failure{exitNothing, errors.New("--sanitize: compute-sanitizer watches kernels on a GPU, and there is none; without --sanitize the emulator itself " +
			"finds accesses out of bounds, divergent barriers and races")}
	}
	onGPU.apply(&request.Options)
	tool, err := gpuworker.FindSanitizer(ctx, a.getenv)
	var missing *backend.Unavailable
	if errors.As(err, &missing) {
		return &failure{exitNothing, fmt.Errorf("--sanitize: %s", missing.Sentence)}
	}
	if err != nil {
		return err
	}
	store, err := a.openStore(ctx, o.db)
	if err != nil {
		return err
	}
	defer store.Close()
	survey, err := a.chooseWatched(ctx, &request, *onGPU, o)
	if err != nil {
		return err
	}
	all := make([]sanitized, len(tools))
	failures := make([]error, len(tools))
	progress := toolsProgress{show: a.progress(o.json), of: map[string]run.Progress{}}
	var group panics.Group
	for i, name := range tools { // side by side: under a tool a worker waits for the host most of the time
		group.Go(func() {
			all[i], failures[i] = a.underTool(ctx, store, tool, name, *onGPU, request, survey, o, &progress)
		})
	}
	err = errors.Join(group.Wait(), errors.Join(failures...))
	progress.show.clear()
	if err != nil {
		return err
	}
	return a.printSanitized(all, o.json)
}

// narrowToCUDA leaves the implementations that a tool can watch.
func narrowToCUDA(request *run.Request, own *ownFlags) error {
	for _, prefix := range request.Impls {
		if family, _, _ := strings.Cut(prefix, "/"); family != "cuda" && family != "mine" {
			return usage("--sanitize watches CUDA kernels, not %s: want --impl cuda, a variant of it, or a file of your own with --add", prefix)
		}
	}
	if len(request.Impls) == 0 {
		request.Impls = []string{"cuda"}
		if len(own.add) > 0 {
			request.Impls = []string{"mine"}
		}
	}
	return nil
}

// underTool runs the request with the worker of CUDA kernels under one tool.
func (a *app) underTool(ctx context.Context, store *results.Store, s gpuworker.Sanitizer, tool string, g gpu, request run.Request, survey run.Survey,
	o *compareOptions, progress *toolsProgress) (one sanitized, err error) {
	reports, err := os.MkdirTemp("", "triad-sanitizer-")
	if err != nil {
		return sanitized{}, fmt.Errorf("make a folder for the reports of %s: %w", tool, err)
	}
	defer os.RemoveAll(reports)
	options, err := o.workerOptions()
	if err != nil {
		return sanitized{}, err
	}
	l := &options.Limits
	for _, limit := range []*time.Duration{&l.Build, &l.Import, &l.First, &l.CallLeast} {
		*limit *= sanitizerSlowness
	}
	options.Grace = worker.Grace{Term: time.Minute, Kill: 10 * time.Second} // a tool writes its summary when the worker has ended
	g.wrap = func(c worker.Command) worker.Command { return s.Under(tool, reports, c) }
	backends, mine, refused, err := a.participants(ctx, &o.ownFlags, &request, &g, o.environmentFlags, options)
	if err != nil {
		return sanitized{}, err
	}
	a.tellMatched(mine, refused, o.json)
	request.Timing = nil
	kept := &recorder{ctx: context.WithoutCancel(ctx), store: store, info: a.session(canonical("compare --sanitize "+tool, request, &o.caseFlags), request, o)}
	kept.info.Machine = g.describe(kept.info.Machine)
	kept.info.Added = o.ownFlags.wordsOf(mine)
	kept.info.Toolchain["compute-sanitizer "+tool] = s.Version
	maps.Copy(kept.info.Toolchain, mine.versions(ctx))
	defer kept.broken(&err, "running the kernels under "+tool)
	runner := &run.Runner{Backends: backends, Recorder: kept, Stop: a.stop, Progress: func(p run.Progress) { progress.tell(tool, p) }}
	result, err := runner.Compare(ctx, request)
	for _, b := range backends {
		err = errors.Join(err, b.Close())
	}
	if err == nil {
		one, err = summarise(tool, reports, result.Records)
		one.Part = result.Interrupted
		one.cover(survey, result.Records)
	}
	code := exitBad
	if one.good() {
		code = exitGood
	}
	return one, errors.Join(err, kept.finish(err == nil && !result.Interrupted, code, err))
}

// summarise reads what a tool wrote and counts what ran under it.
func summarise(tool, reports string, records []record.Record) (sanitized, error) {
	found, err := gpuworker.ReadReports(tool, reports)
	s := sanitized{Report: found}
	reasons := map[string]string{}
	for _, r := range records {
		name := fmt.Sprintf("%s %s %v", r.Case.Op, r.Impl, r.Case.Pass)
		s.Calls += r.Launches
		if r.Status.Weight() == op.Bad {
			s.Bad++
		}
		switch {
		case r.Launches > 0 && !slices.Contains(s.Called, name):
			s.Called = append(s.Called, name)
		case r.Launches == 0 && r.Status != op.StatusMissing && reasons[name] == "":
			reasons[name] = r.Message
		}
	}
	for _, name := range slices.Sorted(maps.Keys(reasons)) {
		if !slices.Contains(s.Called, name) {
			s.Never = append(s.Never, name+": "+reasons[name])
		}
	}
	return s, err
}

// printSanitized prints a table of the tools and one of their findings, and gives the exit code.
func (a *app) printSanitized(all []sanitized, json bool) error {
	good := true
	for _, s := range all {
		good = good && s.good()
	}
	code := exitBad
	if good {
		code = exitGood
	}
	if json {
		for _, s := range all {
			if err := report.JSON(a.out, s); err != nil {
				return err
			}
		}
	} else if err := report.Sanitized(a.out, a.style(), lines(all)); err != nil {
		return err
	}
	if code == exitGood {
		return nil
	}
	return &failure{code: code}
}

// lines are the reports in the words of the table.
func lines(all []sanitized) []report.SanitizerLine {
	var out []report.SanitizerLine
	for _, s := range all {
		l := report.SanitizerLine{Tool: s.Tool, Clean: s.good(), Kernels: len(s.Called), Calls: s.Calls, Processes: s.Processes, Cut: s.Cut, Bad: s.Bad, Part: s.Part, Never: s.Never,
			Watched: s.Watched, Missed: s.Missed, Beyond: s.Beyond}
		for _, f := range s.Findings {
			place := f.File
			if place == "" {
				place = filepath.Base(f.Kernel)
			} else if f.Line > 0 {
				place = fmt.Sprintf("%s:%d", f.File, f.Line)
			}
			l.Findings = append(l.Findings, report.SanitizerFinding{What: f.What, Kernel: f.Kernel, Place: place, Count: f.Count})
		}
		out = append(out, l)
	}
	return out
}
