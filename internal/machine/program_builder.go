package machine

import (
	"context"
	"path/filepath"

	"triad/cuda/build"
	"triad/internal/session"
)

// ProgramBuilder builds programs with the compiler of this machine.
func (a *Workers) ProgramBuilder(ctx context.Context) (build.Builder, error) {
	compiler, err := build.FindHostCompiler(ctx)
	if err != nil {
		return build.Builder{}, session.ToolchainFailure(err)
	}
	cache, err := a.CacheDir()
	return build.Builder{Sources: a.Files, Cache: filepath.Join(cache, "cuda"), Compiler: compiler}, err
}
