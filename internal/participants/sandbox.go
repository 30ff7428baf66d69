package participants

import (
	"context"
	"fmt"
	"sync"

	"triad/cuda/build"
	"triad/internal/confine"
	"triad/internal/machine"
	"triad/internal/ownfile/added"
	"triad/internal/ownfile/observe"
	"triad/internal/ownfile/observed"
	"triad/internal/sandbox"
)

// SandboxOf names the sandbox of strangers' files, for the session; "" if there are none.
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

// ObservesMains returns what runs the main() of a CUDA file once to see how it calls its kernels. Without a
// sandbox or a compiler for the emulator it sees nothing, and says so: nobody asked for main() to run.
func (a *Source) ObservesMains(ctx context.Context) func(file, text string, flags []string) *observed.Run {
	observer := sync.OnceValues(func() (observe.Observer, error) {
		box, err := sandbox.Find(ctx)
		if err != nil {
			fmt.Fprintf(a.Err, "triad: how main() calls kernels is not seen: %v\n", err)
			return observe.Observer{}, err
		}
		builder, err := a.ProgramBuilder(ctx)
		return observe.Observer{Builder: &builder, Box: box}, err
	})
	var mu sync.Mutex
	seen := map[string]*observed.Run{}
	return func(file, text string, flags []string) *observed.Run {
		mu.Lock()
		defer mu.Unlock()
		key := file + " " + build.JoinFlags(flags) + "\n" + text
		if run, known := seen[key]; known {
			return run
		}
		seen[key] = nil
		if o, err := observer(); err == nil {
			seen[key], _ = o.File(ctx, file, text, flags) // what it did before an error
		}
		return seen[key]
	}
}
