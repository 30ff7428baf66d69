package main

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"triad"
	"triad/internal/host"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.printVersion(cmd.Context()) },
	}
}

// printVersion prints the version of triad with its commit, and that of Go.
func (a *app) printVersion(ctx context.Context) error {
	text := "triad " + triad.Version
	if c := host.Commit(ctx); c != "" {
		text += " (" + c + ")"
	}
	_, err := fmt.Fprintf(a.Out, "%s %s %s/%s\n", text, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
