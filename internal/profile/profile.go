// Package profile runs bench points under NVIDIA's ncu, for bench --profile, and prints what their kernels
// wait for.
package profile

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"triad/cuda/gpuworker"
	"triad/internal/backend"
	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/record"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/runsetup"
	"triad/internal/session"
	"triad/internal/worker"
)

// mostReasons limits the reasons that a line of the table names.
const mostReasons = 3

// Print prints a result as compare does.
type Print func(*session.Session, run.Result, *runsetup.Options, session.Ending) error

// profiler is one run under ncu.
type profiler struct {
	*runsetup.Setup
	print  Print
	folder string // for ncu's counts
}

// Run judges the implementations on the bench points under ncu, prints what their kernels wait for and keeps
// ncu's output in a folder.
func Run(ctx context.Context, setup *runsetup.Setup, request run.Request, o *runsetup.Options, folder string,
	print Print,
) (err error) {
	a := &profiler{setup, print, folder}
	options, onGPU, err := a.WorkersAndGPU(ctx, o)
	if err != nil {
		return err
	}
	if onGPU == nil {
		return session.Fail(session.ExitNothing, errors.New("--profile: ncu counts what kernels do on a "+
			"GPU, and there is none; triad sass shows what they wait for by their instructions"))
	}
	tool, err := gpuworker.FindProfiler(ctx, a.Getenv)
	var missing *backend.Unavailable
	if errors.As(err, &missing) {
		return session.Fail(session.ExitNothing, fmt.Errorf("--profile: %s", missing.Sentence))
	}
	if err != nil {
		return err
	}
	if err := readyForProfiles(a.folder); err != nil {
		return err
	}
	judged := a.runProfiled(ctx, request, o, tool, onGPU, options)
	code := session.CodeOf(judged)
	if judged != nil && code != session.ExitBad && code != session.ExitNothing {
		return judged
	}
	// what is wrong or was stopped has counts, too
	err = a.printProfiles(o)
	if judged != nil && errors.Is(err, errNoKernel) {
		return judged // no kernel began
	}
	return errors.Join(judged, err)
}

// readyForProfiles makes the folder; it must hold no profiles, which would be taken for new ones.
func readyForProfiles(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return console.Usage("--profile: the folder cannot be made: %v", err)
	}
	if old, _ := filepath.Glob(filepath.Join(folder, "*.csv")); len(old) > 0 {
		return console.Usage("--profile %s: %s is there already: name a new folder", folder,
			filepath.Base(old[0]))
	}
	return nil
}

// runProfiled runs the request with its workers under ncu. The error is the reason of an abort, or says that
// something is wrong.
func (a *profiler) runProfiled(ctx context.Context, request run.Request, o *runsetup.Options,
	tool gpuworker.Profiler, g *machine.GPU, options worker.Options,
) (err error) {
	folder, err := filepath.Abs(a.folder)
	if err != nil {
		return fmt.Errorf("find the folder of the profiles: %w", err)
	}
	request.Timing = nil
	runsetup.SlowedByTool(&options)
	under := *g
	var workers atomic.Int64
	log := func() string { return filepath.Join(folder, fmt.Sprintf("worker-%d.csv", workers.Add(1))) }
	under.Wrap = func(c worker.Command) worker.Command { return tool.Under(log(), c) }
	under.WrapPython = func(c worker.Command) worker.Command { return tool.UnderInCalls(log(), c) }
	s, _, err := a.OpenSession(ctx, &request, runsetup.SessionOptions{
		Options: o, GPU: &under, Workers: options,
		Words: []string{"bench", "--profile"}, Doing: "running the kernels under ncu",
		Tools: record.Toolchain{"ncu": tool.Version},
	})
	if err != nil {
		return err
	}
	defer s.Close(&err)
	result, end, err := s.Run(ctx, (*run.Runner).Bench, nil)
	if end.Err != nil || err != nil {
		return end.Failure(err)
	}
	return end.Failure(a.print(s, result, o, end))
}

var errNoKernel = errors.New("ncu saw no kernel")

// printProfiles prints ncu's output, as a table or as JSON lines.
func (a *profiler) printProfiles(o *runsetup.Options) error {
	profiles, err := gpuworker.ReadProfiles(a.folder)
	if errors.Is(err, gpuworker.ErrNoCounters) {
		return session.Fail(session.ExitNothing, fmt.Errorf("--profile: %w", err))
	}
	if err != nil {
		return err
	}
	if len(profiles) == 0 {
		return session.Fail(session.ExitNothing, fmt.Errorf("--profile: %w; what it wrote is in %s",
			errNoKernel, a.folder))
	}
	var lines []report.ProfileLine
	for _, p := range profiles {
		if o.JSON {
			if err := report.JSON(a.Out, p); err != nil {
				return err
			}
		}
		lines = append(lines, report.ProfileLine{
			Kernel: p.Kernel, Grid: p.Grid, Block: p.Block, Launches: p.Launches, Registers: p.Registers,
			TimeNS: p.TimeNS, Memory: p.Memory, L2: p.L2, Issue: p.Issue, Warps: p.Warps,
			Waits: reasons(p.Stalls),
		})
	}
	if o.JSON {
		return nil
	}
	return report.Profiled(a.Out, a.Style(), lines, a.folder)
}

// reasons names the most frequent stall reasons, each with the number of warps that wait for it whenever one
// issues.
func reasons(stalls []gpuworker.Stall) string {
	var words []string
	for _, s := range stalls[:min(len(stalls), mostReasons)] {
		words = append(words, fmt.Sprintf("%s %.1f", strings.ReplaceAll(s.Reason, "_", " "), s.Warps))
	}
	return strings.Join(words, ", ")
}
