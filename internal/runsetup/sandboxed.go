package runsetup

import (
	"context"

	"triad/internal/confine"
	"triad/internal/machine"
)

// Confined reports whether the added files run in a sandbox.
func (f *OwnFlags) Confined() bool { return (f.Sandbox || f.Many) && !f.NoSandbox }

// BoxOf returns what makes the workers of added files run in a sandbox; nil if they run without one.
func (a *Setup) BoxOf(ctx context.Context, f *OwnFlags, g *machine.GPU) (confine.Confining, error) {
	if !f.Confined() || f.Box != nil {
		return f.Box, nil
	}
	return a.Confine(ctx, g, f.Database)
}
