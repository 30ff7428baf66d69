package console

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/google/renameio/v2"
)

// ToFile writes a file in full or not at all; without a name it writes to out.
func ToFile(out io.Writer, name string, write func(io.Writer) error) error {
	if name == "" {
		return write(out)
	}
	if at, err := filepath.EvalSymlinks(name); err == nil {
		name = at // the target of a link is written, not the link
	}
	if there, err := os.Stat(name); err == nil && there.IsDir() {
		return Usage("--output %s is a folder: name a file in it", name)
	} else if err == nil && !there.Mode().IsRegular() { // /dev/null, a pipe
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := renameio.NewPendingFile(name, renameio.WithTempDir(filepath.Dir(name)),
		renameio.WithPermissions(0o644))
	if err != nil {
		var made *fs.PathError
		if errors.As(err, &made) { // the error names a file that nobody asked for
			err = made.Err
		}
		return fmt.Errorf("--output %s: %w", name, err)
	}
	defer f.Cleanup()
	if err := write(f); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
