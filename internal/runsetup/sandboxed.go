package runsetup

import (
	"context"

	"triad/internal/confine"
	"triad/internal/machine"
	"triad/internal/ownfile/added"
)

// BoxOf returns what makes the workers of added files run in a sandbox; nil if they run without one.
func (a *Setup) BoxOf(ctx context.Context, f *added.Flags, g *machine.GPU) (confine.Confining, error) {
	if !f.Confined() || f.Box != nil {
		return f.Box, nil
	}
	return a.Confine(ctx, g, f.Database)
}
