package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"triad"
	"triad/internal/fileversion"
)

// commit returns the revision that the binary was built from, with "+changes" where the sources were not as
// committed. A binary that `go run` made does not know it: run from the checkout, it returns the revision of
// the checkout. It returns "" if the revision is not known.
func commit(ctx context.Context) string {
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
	if revision != "" {
		return revision + dirty
	}
	if text, err := os.ReadFile("go.mod"); err != nil ||
		!strings.HasPrefix(string(text), "module "+info.Main.Path+"\n") {
		return ""
	}
	return fileversion.Head(ctx, ".")
}

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
	if c := commit(ctx); c != "" {
		text += " (" + c + ")"
	}
	_, err := fmt.Fprintf(a.out, "%s %s %s/%s\n", text, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
