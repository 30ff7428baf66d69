package machine

import (
	"context"
	"path/filepath"

	"triad/cuda"
	"triad/internal/session"
)

// ProgramBuilder builds programs with the compiler of this machine.
func (a *Workers) ProgramBuilder(ctx context.Context) (cuda.Builder, error) {
	compiler, err := cuda.FindHostCompiler(ctx)
	if err != nil {
		return cuda.Builder{}, session.ToolchainFailure(err)
	}
	cache, err := a.CacheDir()
	return cuda.Builder{Sources: a.Files, Cache: filepath.Join(cache, "cuda"), Compiler: compiler}, err
}
