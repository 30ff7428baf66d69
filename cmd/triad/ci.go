package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"triad/cmd/triad/console"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/session"
)

// ciFlags holds the flags of a verb's output for a CI system.
type ciFlags struct {
	junit  string
	github bool
}

// addCI adds the flags for CI systems to compare.
func (f *ciFlags) addCI(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.junit, "junit", "",
		"write this file as JUnit's XML: a test case for each implementation and case")
	cmd.Flags().BoolVar(&f.github, "github", false,
		"print what is bad as annotations of GitHub Actions too, on stderr")
}

// readyForCI removes the file of an earlier run, which would be taken for this one's if this one were killed.
func (f *ciFlags) readyForCI() error {
	if f.junit == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(f.junit)); err != nil || !info.IsDir() {
		return console.Usage("--junit %s: its folder is not there; make it, or name another file", f.junit)
	}
	if info, err := os.Lstat(f.junit); err == nil && !info.Mode().IsRegular() {
		return console.Usage("--junit %s: it is there, and no regular file; name another", f.junit)
	}
	if err := os.Remove(f.junit); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return console.Usage("--junit %s: %w; name another file", f.junit, err)
	}
	return nil
}

// tellCI writes the output that the flags for CI systems request.
func (a *app) tellCI(s *session.Session, result run.Result, o *compareOptions) error {
	if !s.Recorded() {
		return nil
	}
	return a.writeCI(o, result, s.Info.Added)
}

// writeCI writes the output that the flags for CI systems request for a result; added holds the files of
// --add.
func (a *app) writeCI(o *compareOptions, result run.Result, added []string) error {
	var err error
	if o.junit != "" {
		err = console.ToFile(nil, o.junit, func(w io.Writer) error {
			return report.JUnit(w, result.Records, added, o.strict)
		})
	}
	if o.github {
		err = errors.Join(err, report.GitHub(console.Raw(a.Err), result.Records, added, o.strict))
	}
	return err
}
