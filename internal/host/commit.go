// Package host knows facts about this machine and this binary.
package host

import (
	"context"
	"os"
	"runtime/debug"
	"strings"

	"triad/internal/fileversion"
)

// Commit returns the revision that the binary was built from, with "+changes" where the sources were not as
// committed. A binary that `go run` made does not know it: run from the checkout, it returns the revision of
// the checkout. It returns "" if the revision is not known.
func Commit(ctx context.Context) string {
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
