package describer

import (
	"context"

	"triad/internal/machine"
	"triad/internal/subprocess"
	"triad/internal/worker"
	"triad/pybridge"
)

// On returns the describer of this machine. It runs the code of problems in sandboxes unless that is trusted.
// An error says that there is no cache, no Python or no sandbox.
func On(ctx context.Context, w *machine.Workers, e machine.EnvironmentFlags, trusted bool) (
	*Describer, error,
) {
	cache, err := w.CacheDir()
	if err != nil {
		return nil, err
	}
	environment, err := w.Environment(e, false)
	if err != nil {
		return nil, err
	}
	adapter := &worker.Adapter{Command: pybridge.ProblemCommand(environment, cache)}
	if !trusted {
		confine, err := w.Confine(ctx, nil, "")
		if err != nil {
			return nil, err
		}
		confine(adapter, false, nil)
	}
	return New(func(ctx context.Context) (subprocess.Command, error) {
		c, err := adapter.Command(ctx)
		c.Most.Bytes = MostMemory
		return subprocess.Command{Path: c.Path, Args: c.Args, Env: c.Env, Most: c.Most, Boxed: c.Boxed}, err
	}), nil
}
