package pybridge

import (
	"context"

	"triad/internal/worker"
)

// ProblemCommand returns the command of a process that describes the published problem in a file, and prints
// the description. It runs the file, with the environment of a worker.
func ProblemCommand(e *Environment, cacheDir, format, file string,
) func(context.Context) (worker.Command, error) {
	return func(ctx context.Context) (worker.Command, error) {
		i, err := e.Ensure(ctx)
		if err != nil {
			return worker.Command{}, err
		}
		c, err := e.command(i, cacheDir, "problem_inspect.py")
		if err != nil {
			return c, err
		}
		c.Args = append(c.Args[:scriptAt+1], "--format", format, file)
		return c, nil
	}
}
