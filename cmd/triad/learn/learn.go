// Package learn is the verb triad learn: it lists the exercises and writes their starter files.
package learn

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"triad/internal/console"
	"triad/internal/exercise"
	"triad/internal/report"
	"triad/internal/session"
	"triad/results"
)

// Environment holds what the verb needs of triad.
type Environment struct {
	Out   io.Writer
	Style func() report.Style
	// Open opens the database that --db names for reading.
	Open func(ctx context.Context, db string) (*results.Store, error)
	// All returns the exercises; nil: those of triad.
	All func() ([]exercise.Exercise, error)
}

// options holds the arguments and flags.
type options struct {
	name     string // of an exercise or an operator; "" for all
	into, db string
	solution bool
	asJSON   bool
}

// New returns the verb.
func New(env Environment) *cobra.Command {
	if env.All == nil {
		env.All = exercise.All
	}
	var o options
	cmd := &cobra.Command{
		Use:   "learn [EXERCISE]",
		Short: "exercises from vector addition to the backward of flash attention",
		Long: `learn lists the exercises in the order in which to do them, what is done, and the next one.
learn EXERCISE writes a starter file and says what to watch for. It never overwrites a file.

An exercise is done when the database has a PASS of a file of its name: of every case that compare plans, in
the pass of the exercise (docs/learn.md). A solution is printed with --solution alone.`,
		Example: `  triad learn
  triad learn softmax/warp
  triad learn softmax/warp --solution`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return session.UsageError("learn: want at most one exercise, as triad learn lists them")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				o.name = args[0]
			}
			return run(cmd.Context(), env, o)
		},
	}
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string,
		cobra.ShellCompDirective,
	) {
		all, err := env.All()
		if err != nil || len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		names := make([]string, len(all))
		for i, e := range all {
			names[i] = e.Name
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
	fs := cmd.Flags()
	fs.StringVar(&o.into, "into", ".", "the folder for the starter file")
	fs.BoolVar(&o.solution, "solution", false, "print the solution, and write nothing")
	fs.BoolVar(&o.asJSON, "json", false, "the list as one JSON object a line")
	fs.StringVar(&o.db, "db", "", console.DatabaseUsage)
	return cmd
}

// run runs the verb.
func run(ctx context.Context, env Environment, o options) error {
	all, err := env.All()
	if err != nil {
		return err
	}
	named := all
	if o.name != "" {
		named = exercise.Find(all, o.name)
	}
	switch {
	case len(named) == 0:
		if near := exercise.Nearest(all, o.name); near != "" {
			return session.UsageError("learn: there is no exercise %q: do you mean %s? triad learn lists all",
				o.name, near)
		}
		return session.UsageError("learn: there is no exercise %q: triad learn lists them", o.name)
	case o.solution && len(named) != 1:
		return session.UsageError("learn --solution: want one exercise, such as %s", named[0].Name)
	case o.solution:
		_, err := io.WriteString(env.Out, named[0].Solution)
		return err
	case o.name != "" && len(named) == 1 && named[0].Op != o.name && !o.asJSON:
		return write(env, named[0], o.into)
	}
	return list(ctx, env, o, named)
}

// list prints exercises, and which are done.
func list(ctx context.Context, env Environment, o options, named []exercise.Exercise) error {
	tallies, _, err := console.Tallies(ctx, env.Open, o.db)
	if err != nil {
		return err
	}
	done := exercise.Done(named, tallies)
	if o.asJSON {
		return report.JSONLines(env.Out, exercise.Lines(named, done))
	}
	return report.Exercises(env.Out, env.Style(), named, done)
}

// write writes the starter of an exercise into a folder, and prints its page.
func write(env Environment, e exercise.Exercise, folder string) error {
	path := filepath.Join(folder, e.File)
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return session.UsageError("learn %s: %s exists already, and nothing was written: rename it, or "+
			"choose another folder with --into", e.Name, path)
	case err != nil:
		return session.UsageError("learn %s: the starter cannot be written: %w: choose another folder with "+
			"--into", e.Name, err)
	}
	_, err = file.WriteString(e.Starter)
	if err := errors.Join(err, file.Close()); err != nil {
		_ = os.Remove(path) // half a starter is no starter
		return session.Fail(session.ExitNothing, fmt.Errorf("learn %s: the starter cannot be written: %w",
			e.Name, err))
	}
	return report.Exercise(env.Out, e, path)
}
