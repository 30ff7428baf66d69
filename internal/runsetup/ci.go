package runsetup

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"triad/internal/console"
	"triad/internal/report"
	"triad/internal/run"
	"triad/internal/session"
)

// CIFlags holds the flags of a verb's output for a CI system.
type CIFlags struct {
	JUnit  string
	GitHub bool
}

// ReadyForCI removes the file of an earlier run, which would be taken for this one's if this one were killed.
func (f *CIFlags) ReadyForCI() error {
	if f.JUnit == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(f.JUnit)); err != nil || !info.IsDir() {
		return console.Usage("--junit %s: its folder is not there; make it, or name another file", f.JUnit)
	}
	if info, err := os.Lstat(f.JUnit); err == nil && !info.Mode().IsRegular() {
		return console.Usage("--junit %s: it is there, and no regular file; name another", f.JUnit)
	}
	if err := os.Remove(f.JUnit); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return console.Usage("--junit %s: %w; name another file", f.JUnit, err)
	}
	return nil
}

// PrintCI writes the output that the flags for CI systems request.
func (a *Setup) PrintCI(s *session.Session, result run.Result, o *Options) error {
	if !s.Recorded() {
		return nil
	}
	return a.WriteCI(o, result, s.Info.Added)
}

// WriteCI writes the output that the flags for CI systems request for a result; added holds the files of
// --add.
func (a *Setup) WriteCI(o *Options, result run.Result, added []string) error {
	var err error
	if o.JUnit != "" {
		err = console.ToFile(nil, o.JUnit, func(w io.Writer) error {
			return report.JUnit(w, result.Records, added, o.Strict)
		})
	}
	if o.GitHub {
		err = errors.Join(err, report.GitHub(console.Raw(a.Err), result.Records, added, o.Strict))
	}
	return err
}
