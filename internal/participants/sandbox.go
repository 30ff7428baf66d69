package participants

import (
	"context"

	"triad/internal/confine"
	"triad/internal/machine"
	"triad/internal/ownfile/added"
)

// SandboxOf says in what a stranger's files run, for the session; "" if there are none.
func SandboxOf(f *added.Flags, mine *OwnFiles) string {
	switch {
	case f.NoSandbox:
		return "none (--no-sandbox)"
	case f.Confined(), mine != nil && mine.Folder != nil && mine.Folder.Problem != "":
		return "bubblewrap"
	}
	return ""
}

// BoxOf returns what makes the workers of added files run in a sandbox; nil if they run without one.
func (a *Source) BoxOf(ctx context.Context, f *added.Flags, g *machine.GPU) (confine.Confining, error) {
	if !f.Confined() || f.Box != nil {
		return f.Box, nil
	}
	return a.Confine(ctx, g, f.Database)
}
