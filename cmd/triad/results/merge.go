package results

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"triad/internal/console"
	"triad/internal/report"
	"triad/internal/session"
	"triad/results"
)

func importCommand(db *string, run func(ctx context.Context, into string,
	from []string) error,
) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE...",
		Short: "add what other databases hold to yours",
		Long: `import adds the sessions, runs and times of other databases that triad wrote. What is there
already stays as it is: files may come in any order and any number of times. Each file is added whole or not
at all, and none of them is changed; one that is damaged, foreign or of a newer triad is refused.`,
		Example: "  triad results import friday.db colleague/results.db",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), *db, args)
		},
	}
}

func mergeCommand(run func(ctx context.Context, into string, from []string) error) *cobra.Command {
	return &cobra.Command{
		Use:   "merge INTO FROM...",
		Short: "the union of several databases in one file",
		Long: `merge makes INTO the union of itself and the others; a file that is not there yet is made.
Files may come in any order and any number of times: nothing is doubled and nothing is lost. Each is added
whole or not at all.`,
		Example: "  triad results merge all.db shard1.db shard2.db shard3.db",
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(cmd.Context(), args[0], args[1:])
		},
	}
}

// merge adds databases to into, as --db names it, one after the other, and prints what each added.
func (a *verb) merge(ctx context.Context, into string, from []string) error {
	into, err := a.DatabasePath(into)
	if err != nil {
		return err
	}
	store, err := results.Open(ctx, into, results.Options{BusyTimeout: results.MergePatience})
	if err != nil {
		return session.ReadFailure(err, true)
	}
	defer store.Close()
	for _, path := range from {
		m, err := store.Merge(ctx, path)
		if err != nil {
			return mergeFailure(err)
		}
		fmt.Fprintln(
			a.Out,
			report.Merged(filepath.Base(path), m.Sessions, m.SessionsThere, m.Runs, m.RunsThere,
				m.Running),
		)
	}
	return nil
}

// mergeFailure returns the error of a file that could not be merged with its exit code: a file that is no
// database of ours is the user's mistake.
func mergeFailure(err error) error {
	if errors.Is(err, results.ErrForeign) || errors.Is(err, results.ErrNewer) ||
		errors.Is(err, results.ErrCorrupt) || errors.Is(err, fs.ErrNotExist) {
		return console.Usage("%w", err)
	}
	return session.Fail(session.ExitBad, err)
}
