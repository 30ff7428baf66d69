package pybridge

import (
	"context"
	"io/fs"
	"path/filepath"

	"triad/internal/sandbox"
	"triad/internal/worker"
)

// ProblemCommand returns the command of a process that describes published problems: it reads requests from
// stdin, and answers on stdout. It runs the problems' files, with the environment of a worker.
func ProblemCommand(e *Environment, cacheDir string) func(context.Context) (worker.Command, error) {
	return func(ctx context.Context) (worker.Command, error) {
		i, err := e.Ensure(ctx)
		if err != nil {
			return worker.Command{}, err
		}
		c, err := e.command(i, cacheDir, "problems/problem_inspect.py")
		if err != nil {
			return c, err
		}
		c.Args = c.Args[:scriptAt+1]
		return c, nil
	}
}

// ProblemVersion identifies the Python that describes problems.
func ProblemVersion(files fs.FS, cacheDir string) (string, error) {
	root, err := unpack(files, cacheDir)
	return filepath.Base(root), err
}

// CheckCommand returns the command of a process that runs the check of an imported problem, as its format
// does, on a submission, and prints what it says. What the submission compiles is kept with what its worker
// compiles, whose files lie in the folder written.
func CheckCommand(e *Environment, cacheDir, folder, submission, written string,
) func(context.Context) (worker.Command, error) {
	return func(ctx context.Context) (worker.Command, error) {
		i, err := e.Ensure(ctx)
		if err != nil {
			return worker.Command{}, err
		}
		c, err := e.command(i, cacheDir, "problems/problem_check.py")
		if err != nil {
			return c, err
		}
		c.Args = append(c.Args[:scriptAt+1], "--problem", folder, submission)
		c.Env = append(c.Env, sandbox.ExtensionsName+"="+extensionsOf(cacheDir, written))
		return c, nil
	}
}
