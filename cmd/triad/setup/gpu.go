package setup

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"triad/cuda/build"
	"triad/cuda/gpuworker"
	"triad/internal/console"
	"triad/internal/machine"
	"triad/internal/session"
)

// buildForGPU builds the worker and the kernel libraries for GPUs into a folder, of all operators or the
// given ones; it needs no GPU.
func (a *verb) buildForGPU(ctx context.Context, f machine.EnvironmentFlags, folder string,
	operators []string,
) error {
	compiler, err := a.FindNVCC(ctx, f, true)
	if err != nil {
		return session.ToolchainFailure(err)
	}
	headers, err := a.Headers(ctx, f)
	if err != nil {
		return session.ToolchainFailure(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return session.ToolchainFailure(err)
	}
	module := gpuworker.Module(ctx, dir)
	if module == "" {
		return console.Usage("--gpu %s: %s is not in triad's module, whose sources the worker is built from",
			folder,
			dir)
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return session.ToolchainFailure(err)
	}
	cache, err := a.CacheDir()
	if err != nil {
		return err
	}
	if err := gpuworker.Build(ctx, module, headers, filepath.Join(folder, gpuworker.Binary)); err != nil {
		return session.ToolchainFailure(err)
	}
	if err := build.Ship(ctx, a.Files, filepath.Join(cache, "cuda"), compiler,
		filepath.Join(folder, "kernels"), operators...); err != nil {
		return session.ToolchainFailure(err)
	}
	fmt.Fprintf(a.Out, "%s and the kernel libraries (%s and PTX) are in %s\n", gpuworker.Binary,
		strings.Join(build.ShippedArchitectures, ", "), folder)
	return nil
}
