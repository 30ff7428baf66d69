// Package version is the verb version.
package version

import (
	"context"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"

	"triad"
	"triad/internal/console"
	"triad/internal/host"
)

// New returns the command triad version.
func New(c *console.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return Print(cmd.Context(), c.Out) },
	}
}

// Print prints the version of triad with its commit, and that of Go.
func Print(ctx context.Context, out io.Writer) error {
	text := "triad " + triad.Version
	if c := host.Commit(ctx); c != "" {
		text += " (" + c + ")"
	}
	_, err := fmt.Fprintf(out, "%s %s %s/%s\n", text, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
