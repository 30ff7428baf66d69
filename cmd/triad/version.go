package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"triad"
)

// commit is the revision the binary was built from, "" where the build did not record one.
func commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	return revision + dirty
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text := "triad " + triad.Version
			if c := commit(); c != "" {
				text += " (" + c + ")"
			}
			_, err := fmt.Fprintf(a.out, "%s %s %s/%s\n", text, runtime.Version(), runtime.GOOS,
				runtime.GOARCH)
			return err
		},
	}
}
