package runsetup

import (
	"context"

	"triad/cmd/triad/workers"
	"triad/internal/confine"
)

// Confined reports whether the added files run in a sandbox.
func (f *OwnFlags) Confined() bool { return (f.sandbox || f.Many) && !f.noSandbox }

// BoxOf returns what makes the workers of added files run in a sandbox; nil if they run without one.
func (a *Setup) BoxOf(ctx context.Context, f *OwnFlags, g *workers.GPU) (confine.Confining, error) {
	if !f.Confined() || f.Box != nil {
		return f.Box, nil
	}
	return a.Confine(ctx, g, f.Database)
}
