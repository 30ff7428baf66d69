// Package sanitize runs CUDA kernels under the tools of compute-sanitizer.
package sanitize

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"triad/cuda/gpuworker"
	"triad/internal/backend"
	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/ownfile/added"
	"triad/internal/panics"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/scratch"
	"triad/internal/session"
	"triad/internal/worker"
)

// sanitized is the outcome of a run under one tool.
type sanitized struct {
	gpuworker.Report
	Calls  int      `json:"calls"`  // launches that the tool watched
	Called []string `json:"called"` // implementation and pass of each kernel that ran
	Never  []string `json:"never"`  // and of those that no case of this level reached, with one reason
	Bad    int      `json:"bad"`    // bad records: a kernel is judged under a tool as well
	Part   bool     `json:"part"`   // the run was stopped before its plan was done

	// Of the compiled kernels, each with its own variant, dtype, pass and size; all empty if the worker
	// does not know what a call launches.
	Watched int      `json:"watched"` // ran under the tool
	Missed  []string `json:"missed"`  // some case launches it, but none did under the tool
	Beyond  []string `json:"beyond"`  // no case launches it
}

// good reports whether the run shows that the kernels are clean.
func (s sanitized) good() bool {
	return s.Clean() && s.Bad == 0 && !s.Part && len(s.Called) > 0 && len(s.Missed) == 0
}

// sanitizerTools parses --sanitize.
func sanitizerTools(words []string) ([]string, error) {
	if slices.Contains(words, "all") {
		return gpuworker.Sanitizers, nil
	}
	for _, word := range words {
		if !slices.Contains(gpuworker.Sanitizers, word) {
			return nil, console.Usage("--sanitize %q: want all, or of %s", word,
				strings.Join(gpuworker.Sanitizers, ", "))
		}
	}
	return words, nil
}

// runner runs kernels under tools.
type runner struct{ *runsetup.Setup }

// Run runs CUDA kernels under tools of compute-sanitizer, side by side, and prints their findings.
func Run(ctx context.Context, s *runsetup.Setup, request run.Request, o *runsetup.Options) error {
	a := &runner{s}
	tools, err := sanitizerTools(o.Sanitizers)
	if err != nil {
		return err
	}
	if err := narrowToCUDA(&request, &o.Own); err != nil {
		return err
	}
	options, onGPU, err := a.WorkersAndGPU(ctx, o)
	if err != nil {
		return err
	}
	if onGPU == nil {
		return session.Fail(session.ExitNothing, errNoGPUToWatch)
	}
	onGPU.Apply(&request.Options)
	tool, err := gpuworker.FindSanitizer(ctx, a.Getenv)
	var missing *backend.Unavailable
	if errors.As(err, &missing) {
		return session.Fail(session.ExitNothing, fmt.Errorf("--sanitize: %s", missing.Sentence))
	}
	if err != nil {
		return err
	}
	store, err := a.OpenStore(ctx, o.DB)
	if err != nil {
		return err
	}
	defer store.Close()
	survey, err := a.chooseWatched(ctx, &request, *onGPU, o, options)
	if err != nil {
		return err
	}
	all := make([]sanitized, len(tools))
	endings := make([]session.Ending, len(tools))
	failures := make([]error, len(tools))
	progress := a.Progress()
	var group panics.Group
	for i, name := range tools { // side by side: under a tool a worker waits for the host most of the time
		group.Go(func() {
			u := underTool{Sanitizer: tool, name: name, survey: survey}
			endings[i], failures[i] = a.underTool(ctx, &u, request, *onGPU, runsetup.SessionOptions{
				Options: o,
				Workers: options, Store: store, Progress: progress, Part: name,
			})
			all[i] = u.found
		})
	}
	err = errors.Join(group.Wait(), errors.Join(failures...))
	progress.Clear()
	if err != nil {
		return err
	}
	return a.printSanitized(all, endings, o.JSON)
}

// narrowToCUDA reduces a request to the implementations that a tool can watch.
func narrowToCUDA(request *run.Request, own *added.Flags) error {
	for _, prefix := range request.Impls {
		if family, _, _ := strings.Cut(prefix, "/"); family != "cuda" && family != "mine" {
			return console.Usage(
				"--sanitize watches CUDA kernels, not %s: want --impl cuda, a variant of it, or a "+
					"file of your own with --add", prefix)
		}
	}
	if len(request.Impls) == 0 {
		request.Impls = []string{"cuda"}
		if len(own.Add) > 0 {
			request.Impls = []string{"mine"}
		}
	}
	return nil
}

// underTool is the run of a request under one tool.
type underTool struct {
	gpuworker.Sanitizer
	name   string
	survey run.Survey // which compiled kernels the calls launch
	found  sanitized
}

// underTool runs the request with the worker of CUDA kernels under one tool. The error is the reason of an
// abort.
func (a *runner) underTool(ctx context.Context, u *underTool, request run.Request, g machine.GPU,
	o runsetup.SessionOptions,
) (end session.Ending, err error) {
	temporary, err := scratch.Make("sanitizer")
	if err != nil {
		return end, fmt.Errorf("make a folder for the reports of %s: %w", u.name, err)
	}
	defer temporary.Remove()
	reports := temporary.Path
	runsetup.SlowedByTool(&o.Workers)
	g.Wrap = func(c worker.Command) worker.Command { return u.Under(u.name, reports, c) }
	o.GPU, o.Doing, o.Words = &g, "running the kernels under "+u.name,
		[]string{"compare", "--sanitize", u.name}
	o.Tools = record.Toolchain{"compute-sanitizer " + u.name: u.Version}
	o.Ending = func(result run.Result, err error) session.Ending { return u.ending(reports, result, err) }
	s, _, err := a.OpenSession(ctx, &request, o)
	if err != nil {
		return end, err
	}
	defer s.Close(&err)
	_, end, err = s.Run(ctx, (*run.Runner).Compare, nil)
	if end.Err != nil || err != nil {
		return end, end.Failure(err)
	}
	return end, nil
}

// ending reads the tool's reports on a run whose workers have ended, and decides how the run ended.
func (u *underTool) ending(reports string, result run.Result, err error) session.Ending {
	if err == nil {
		u.found, err = summarise(u.name, reports, result.Records)
		u.found.Part = result.Interrupted
		u.found.cover(u.survey, result.Records)
	}
	tool := session.Tool{
		Clean: u.found.good(), Found: len(u.found.Findings)+u.found.Bad > 0,
		Stopped: u.found.Part,
	}
	return session.EndingUnderTool(tool, err)
}

// summarise reads a tool's reports and counts what ran under it.
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

// printSanitized prints a table of the tools and one of their findings, and returns the exit code as an
// error.
func (a *runner) printSanitized(all []sanitized, endings []session.Ending, json bool) error {
	if json {
		for _, s := range all {
			if err := report.JSON(a.Out, s); err != nil {
				return err
			}
		}
	} else if err := report.Sanitized(a.Out, a.Style(), lines(all)); err != nil {
		return err
	}
	return session.Several(endings)
}

// lines returns the reports as lines of the table.
func lines(all []sanitized) []report.SanitizerLine {
	var out []report.SanitizerLine
	for _, s := range all {
		l := report.SanitizerLine{
			Tool: s.Tool, Clean: s.good(), Kernels: len(s.Called), Calls: s.Calls, Processes: s.Processes,
			Cut: s.Cut, Bad: s.Bad, Part: s.Part, Never: s.Never,
			Watched: s.Watched, Missed: s.Missed, Beyond: s.Beyond,
		}
		for _, f := range s.Findings {
			place := f.File
			if place == "" {
				place = filepath.Base(f.Kernel)
			} else if f.Line > 0 {
				place = fmt.Sprintf("%s:%d", f.File, f.Line)
			}
			l.Findings = append(l.Findings, report.SanitizerFinding{
				What: f.What, Kernel: f.Kernel,
				Place: place, Count: f.Count,
			})
		}
		out = append(out, l)
	}
	return out
}

// errNoGPUToWatch explains what to do instead of --sanitize without a GPU.
var errNoGPUToWatch = errors.New("--sanitize: compute-sanitizer watches kernels on a GPU, and there is " +
	"none; without --sanitize the emulator itself finds accesses out of bounds, divergent barriers and races")
