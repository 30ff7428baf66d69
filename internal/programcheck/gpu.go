package programcheck

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"triad/cuda/build"
	"triad/cuda/gpuworker"
	"triad/cuda/program"
	"triad/internal/backend"
	"triad/internal/check"
	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/scratch"
	"triad/internal/session"
)

// checkOnGPU builds a program with nvcc, runs it under each tool of compute-sanitizer, and returns their
// findings in the form of the emulator's.
func (a *checker) checkOnGPU(ctx context.Context, file string, args []string, input []byte,
	o *Options,
) (*check.Report, error) {
	if isOperator(file) {
		return nil, console.Usage("check --device gpu: want a program; triad compare %s --sanitize all "+
			"watches an operator's kernels", file)
	}
	if len(o.Sizes) > 0 || o.Explain || len(o.Sanitizers) > 0 {
		return nil, console.Usage("check --device gpu: --size, --explain and --sanitize are for the emulator")
	}
	tool, err := gpuworker.FindSanitizer(ctx, a.Getenv)
	var missing *backend.Unavailable
	if errors.As(err, &missing) {
		return nil, session.Fail(session.ExitNothing, fmt.Errorf("check --device gpu: %s", missing.Sentence))
	}
	if err != nil {
		return nil, err
	}
	nvcc, err := a.FindNVCC(ctx, machine.EnvironmentFlags{Look: true}, false)
	if err != nil {
		return nil, session.Fail(session.ExitNothing, fmt.Errorf("check --device gpu: %w", err))
	}
	temporary, err := scratch.Make("check-gpu")
	if err != nil {
		return nil, fmt.Errorf("make a folder for the program: %w", err)
	}
	defer temporary.Remove()
	folder := temporary.Path
	b := build.GPUBuilder{Sources: a.Files, Compiler: nvcc, Architectures: []string{"native"}}
	source := program.Source{File: file, Include: o.Include, Define: o.Define, Std: o.Std}
	built, err := program.BuildForGPU(ctx, &b, source, folder)
	var mistake *build.Error
	var unfit *program.Error
	switch {
	case errors.As(err, &mistake), errors.As(err, &unfit), os.IsNotExist(err):
		return nil, console.Usage("check: %v", err)
	case err != nil:
		return nil, err
	}
	out := a.Out
	if o.JSON {
		out = a.Err
	}
	found, err := check.Run(ctx, check.Request{
		Program: built, Args: args, Input: input, Limit: o.Run, Stall: o.Stall, Budget: o.All, Output: out,
		Orders: check.Orders[:1], Native: true,
		Locate: func(context.Context, []uint64) (map[uint64]check.Place, error) { return nil, nil },
	})
	if err != nil {
		return nil, err
	}
	found.Orders = nil
	if slices.ContainsFunc(found.Findings, func(f check.Finding) bool { return f.Kind == check.NeverEnds }) {
		return found, nil // nor would it end under a tool
	}
	w := gpuworker.Watched{
		Tool: tool, File: file, Folder: folder, Program: built, Args: args, Input: input, Limit: o.Run,
	}
	return found, w.Check(ctx, found)
}
