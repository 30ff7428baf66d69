package look

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/ownfile/added"
	"triad/internal/session"
	"triad/internal/userfile"
)

// entry is a file that gets a line.
type entry struct {
	name    string // as it is printed
	path    string
	trouble string // why it cannot be read; "" if nothing is known of that yet
}

// Names reports whether a word on the command line means a path: it exists, or looks like one.
func Names(word string) bool {
	if _, err := os.Lstat(word); err == nil {
		return true
	}
	return strings.ContainsRune(word, filepath.Separator) || added.IsKernelFile(word)
}

// list returns the files of paths, each once. Of a folder those below it, sorted by path.
func list(paths []string) ([]entry, error) {
	var all []entry
	for _, path := range paths {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !isLink(path):
			return nil, session.UsageError("there is no file and no folder %s", path)
		case err == nil && info.IsDir():
			all = append(all, below(path)...)
		case !added.IsKernelFile(path):
			return nil, session.UsageError("%s is no .cu and no .py file: name one, or a folder", path)
		default:
			all = append(all, entryOf(path, filepath.Base(path)))
		}
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(all, func(e entry) bool {
		key := e.path
		if real, err := filepath.EvalSymlinks(e.path); err == nil {
			key = real
		}
		if abs, err := filepath.Abs(key); err == nil {
			key = abs
		}
		twice := seen[key]
		seen[key] = true
		return twice
	}), nil
}

// below returns the files of a folder and its subfolders, except hidden ones.
func below(folder string) []entry {
	var all []entry
	name := func(path string) string {
		if rel, err := filepath.Rel(folder, path); err == nil {
			return rel
		}
		return path
	}
	root := folder + string(filepath.Separator) // also of a link to a folder
	_ = filepath.WalkDir(root, func(path string, d fs.DirEntry,
		err error,
	) error { // each trouble is an entry
		switch {
		case err != nil:
			all = append(all, entry{name(path), path, "cannot be read: " + reason(err)})
			if d != nil && d.IsDir() {
				return filepath.SkipDir
			}
		case path != root && d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "__pycache__"):
			return filepath.SkipDir
		case !d.IsDir() && added.IsKernelFile(path):
			all = append(all, entryOf(path, name(path)))
		}
		return nil
	})
	return all
}

// entryOf returns the entry of a path, with what is wrong about a link.
func entryOf(path, name string) entry {
	e := entry{name: name, path: path}
	if _, err := os.Stat(path); err != nil {
		e.trouble = "cannot be read: " + reason(err)
		if to, linked := os.Readlink(path); linked == nil {
			e.trouble = "a broken link to " + to
		}
	} else if !userfile.IsRegular(path) {
		e.trouble = "is no regular file"
	}
	return e
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// reason returns what an error of a file says besides its path.
func reason(err error) string {
	var of *fs.PathError
	if errors.As(err, &of) {
		return of.Err.Error()
	}
	return fmt.Sprint(err)
}
