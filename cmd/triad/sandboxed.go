package main

import (
	"context"

	"triad/cmd/triad/workers"
	"triad/internal/confine"
)

// confined reports whether the added files run in a sandbox.
func (f *ownFlags) confined() bool { return (f.sandbox || f.many) && !f.noSandbox }

// boxOf returns what makes the workers of added files run in a sandbox; nil if they run without one.
func (a *app) boxOf(ctx context.Context, f *ownFlags, g *workers.GPU) (confine.Confining, error) {
	if !f.confined() || f.box != nil {
		return f.box, nil
	}
	return a.Confine(ctx, g, f.database)
}
