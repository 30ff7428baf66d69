package runsetup

import (
	"context"

	"triad/internal/describer"
	"triad/internal/machine"
	"triad/internal/subprocess"
	"triad/internal/worker"
	"triad/pybridge"
)

// Describer returns what describes published problems, in sandboxes unless they are trusted.
func (a *Setup) Describer(ctx context.Context, e machine.EnvironmentFlags, trusted bool) (
	*describer.Describer, error,
) {
	cache, err := a.CacheDir()
	if err != nil {
		return nil, err
	}
	environment, err := a.Environment(e, false)
	if err != nil {
		return nil, err
	}
	adapter := &worker.Adapter{Command: pybridge.ProblemCommand(environment, cache)}
	if !trusted {
		confine, err := a.Confine(ctx, nil, "")
		if err != nil {
			return nil, err
		}
		confine(adapter, false, nil)
	}
	return describer.New(func(ctx context.Context) (subprocess.Command, error) {
		c, err := adapter.Command(ctx)
		c.Most.Bytes = describer.MostMemory
		return subprocess.Command{Path: c.Path, Args: c.Args, Env: c.Env, Most: c.Most, Boxed: c.Boxed}, err
	}), nil
}
