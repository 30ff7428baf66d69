package machine

import (
	"context"
	"fmt"
	"path/filepath"

	"triad/cuda/build"
	"triad/internal/confine"
	"triad/internal/sandbox"
	"triad/internal/session"
)

// Confine finds the sandbox of this machine, and returns what makes a worker run in it. database is the
// database of the run, "" for that of a user without a flag: no worker reads it.
func (a *Workers) Confine(ctx context.Context, g *GPU, database string) (confine.Confining, error) {
	m, err := a.Sandboxes(ctx, g, database)
	if err != nil {
		return nil, err
	}
	return m.Confine(), nil
}

// Sandboxes returns what the sandboxes of this machine need to know; see Confine.
func (a *Workers) Sandboxes(ctx context.Context, g *GPU, database string) (*confine.Machine, error) {
	box, err := sandbox.Find(ctx)
	if err != nil {
		err = fmt.Errorf("%w, or trust the files with --no-sandbox", err)
		return nil, session.ToolchainFailure(err)
	}
	cache, err := a.CacheDir()
	if err != nil {
		return nil, err
	}
	data, err := a.DataDir()
	if err != nil {
		return nil, err
	}
	if database == "" {
		if database, err = a.DatabasePath(""); err != nil {
			return nil, err
		}
	}
	m := &confine.Machine{Box: box, Cache: cache, Built: filepath.Join(cache, "cuda"), GPU: g != nil}
	if m.Masked, err = confine.FilesOfDatabase(database); err != nil {
		return nil, err
	}
	if g != nil { // nvcc, and what else triad installed; not the databases next to it
		m.Seen = confine.FoldersIn(data)
	} else if m.Seen, err = build.Shared(ctx, a.Files, m.Built); err != nil {
		return nil, session.ToolchainFailure(err)
	}
	return m, nil
}
