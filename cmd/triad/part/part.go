// Package part is the hidden verb part.
package part

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"triad/internal/console"
	"triad/internal/fleetrun"
	"triad/internal/runsetup"
)

// New returns the command with which an engine starts triad on another machine. root returns triad with all
// its verbs.
func New(s *runsetup.Setup, root func() *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:    "part FOLDER SHARD",
		Short:  "run one shard of a plan in a shared folder; started by an engine",
		Hidden: true,
		Args:   cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			shard, err := strconv.Atoi(args[1])
			if err != nil || shard < 1 {
				return console.Usage("part %s %s: want a folder and the number of a shard", args[0], args[1])
			}
			execute := func(ctx context.Context, args []string, begun func()) error {
				triad := root()
				triad.SetArgs(args)
				triad.SetOut(s.Out)
				triad.SetErr(s.Err)
				triad.PersistentPreRun = func(*cobra.Command, []string) { begun() }
				return triad.ExecuteContext(ctx)
			}
			return fleetrun.Part(cmd.Context(), s, args[0], shard, execute)
		},
	}
}
