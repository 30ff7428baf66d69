package worker

import (
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"triad/cuda/serve"
	"triad/internal/console"
	"triad/internal/sandbox"
	"triad/internal/session"
)

// Command returns the command with which triad starts itself again as the process that runs CUDA kernels on
// a CPU: a kernel that writes anywhere, exits or hangs then takes nothing else with it.
func Command(c *console.Console) *cobra.Command {
	var cache, spec string
	var stall time.Duration
	cmd := &cobra.Command{
		Use:       "worker cuda",
		Short:     "run CUDA kernels in the emulator; started by triad itself",
		Hidden:    true,
		ValidArgs: []string{"cuda"},
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			conn, memory := os.NewFile(3, "conn"), os.NewFile(4, "memory")
			if conn == nil || memory == nil || cache == "" {
				return console.Usage(
					"worker cuda is started by triad, not by hand: it needs a socket, shared " +
						"memory and --cache")
			}
			if err := sandbox.LimitSelf(os.Getenv); err != nil {
				return session.Fail(session.ExitBad, fmt.Errorf("worker cuda: %w", err))
			}
			ctx, done := c.AtFirstInterrupt(cmd.Context()) // SIGTERM ends a build
			defer done()
			if err := serve.Catalog(ctx, serve.Stalling(serve.NewEmulator(c.Files, cache), stall),
				spec, conn, memory); err != nil {
				return session.Fail(session.ExitBad, fmt.Errorf("worker cuda: %w", err))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&cache, "cache", "", "folder of the built libraries")
	cmd.Flags().DurationVar(&stall, "stall", 0, "how long no block of a kernel may finish")
	cmd.Flags().StringVar(&spec, "spec", "", "the spec of an operator that is not of the catalog")
	return cmd
}
