// Package problem imports published kernel problems: it finds them in files and folders, has each described
// by a process that may run its code, and writes the folder of an operator whose truth is the problem's
// reference. It judges nothing.
package problem

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/catalog"
	"triad/internal/fileversion"
	"triad/internal/op"
	"triad/internal/opfolder"
	"triad/internal/userfile"
)

// Format is a convention in which problems are published.
type Format interface {
	Name() string
	// Detect reports whether a file holds a problem of this format.
	Detect(path string, text []byte) bool
	// Operator returns the name of the operator that the problem in a file becomes.
	Operator(path string) string
	// Module returns the name of the Python module that calls its references, and its submissions where
	// these are Python classes.
	Module() string
}

// formats lists what can be imported.
var formats = []Format{kernelBench{}, leetGPU{}}

// Formats returns the names of the formats.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.Name())
	}
	return names
}

// formatNamed returns a format that is known.
func formatNamed(name string) Format {
	return formats[slices.IndexFunc(formats, func(f Format) bool { return f.Name() == name })]
}

// IsFormat reports whether a word names a format.
func IsFormat(word string) bool { return slices.Contains(Formats(), word) }

// Problem is one problem that was found.
type Problem struct {
	Path     string // of its file, as found below the path that was named
	Format   string
	Operator string // the name of the operator that it becomes
}

// Source identifies the file that a problem was imported from.
type Source struct {
	Text   []byte
	SHA256 string
	Path   string // absolute
	Commit string // of its repository, "" for none
}

// mostFiles is the maximum number of files that are looked at for problems.
const mostFiles = 20_000

// List returns the problems in a file, or in a folder and the folders in it, in the order of their paths. An
// empty format means all. Hidden folders and links are left out. The error is a *op.UsageError.
func List(path, format string) ([]Problem, error) {
	refuse := func(f string, a ...any) ([]Problem, error) {
		return nil, &op.UsageError{Message: fmt.Sprintf("import %s: ", path) + fmt.Sprintf(f, a...)}
	}
	if format != "" && !IsFormat(format) {
		return refuse("there is no format %q: want one of %s", format, strings.Join(Formats(), ", "))
	}
	info, err := os.Stat(path)
	if err != nil {
		return refuse("there is no such file or folder")
	}
	if !info.IsDir() {
		p, err := detect(path, format)
		if err != nil {
			return refuse("%v", err)
		}
		return []Problem{p}, nil
	}
	var found []Problem
	files := 0
	err = filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what cannot be read holds no problem for us
		case d.IsDir() && at != path && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case !d.Type().IsRegular() || filepath.Ext(at) != ".py":
			return nil
		}
		if files++; files > mostFiles {
			return fmt.Errorf("it holds more than %d Python files: name a folder in it", mostFiles)
		}
		if p, err := detect(at, format); err == nil {
			found = append(found, p)
		}
		return nil
	})
	if err != nil {
		return refuse("%v", err)
	}
	return found, nil
}

// detect returns the problem that a file holds.
func detect(path, format string) (Problem, error) {
	text, err := userfile.Read(path)
	if err != nil {
		return Problem{}, fmt.Errorf("it cannot be read: %w", err)
	}
	for _, f := range formats {
		if (format == "" || f.Name() == format) && f.Detect(path, text) {
			return Problem{Path: path, Format: f.Name(), Operator: f.Operator(path)}, nil
		}
	}
	wanted := strings.Join(Formats(), ", ")
	if format != "" {
		wanted = format
	}
	return Problem{}, fmt.Errorf("it holds no problem of a format that triad imports: %s", wanted)
}

// Describe returns what a process that may run a problem's code prints about it: a Description as JSON.
type Describe func(ctx context.Context, p Problem) ([]byte, error)

// Imported is a problem that became an operator.
type Imported struct {
	Problem
	Folder  string
	Already bool // the folder was there, of the same file
	Notes   []string
}

// Import describes a problem and writes the folder of its operator below into. A folder of the same file that
// is there already is left as it is. The error says in a sentence why there is no operator.
func Import(ctx context.Context, p Problem, into string, describe Describe) (*Imported, error) {
	source, err := read(ctx, p.Path)
	if err != nil {
		return nil, err
	}
	done := &Imported{Problem: p, Folder: filepath.Join(into, p.Operator)}
	if err := op.CheckOperatorName(p.Operator); err != nil {
		return nil, err
	}
	if _, err := catalog.Get(p.Operator); err == nil {
		return nil, fmt.Errorf("%s is an operator that triad has", p.Operator)
	}
	if _, err := os.Lstat(done.Folder); err == nil {
		if hashIn(done.Folder) != source.SHA256 {
			return nil, fmt.Errorf("%s is there already, and not of this file: remove it, or choose another "+
				"folder with --into", done.Folder)
		}
		done.Already = true
		return done, nil
	}
	text, err := describe(ctx, p)
	if err != nil {
		return nil, err
	}
	d, err := parseDescription(text)
	if err != nil {
		return nil, err
	}
	files, err := filesOf(p, source, d)
	if err != nil {
		return nil, err
	}
	done.Notes = d.notes()
	return done, write(done.Folder, files)
}

func read(ctx context.Context, path string) (Source, error) {
	text, err := userfile.Read(path)
	if err != nil {
		return Source{}, fmt.Errorf("it cannot be read: %w", err)
	}
	if i := bytes.IndexByte(text, 0); i >= 0 {
		line := 1 + bytes.Count(text[:i], []byte("\n"))
		return Source{}, fmt.Errorf("it is no Python: line %d has a byte 0", line)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return Source{}, err
	}
	commit := strings.TrimPrefix(fileversion.Commit(ctx, path), ", ")
	return Source{Text: text, SHA256: sum(text), Path: absolute, Commit: commit}, nil
}

// write makes the folder with all its files, or nothing.
func write(folder string, files map[string]string) (err error) {
	if err := os.MkdirAll(filepath.Dir(folder), 0o755); err != nil {
		return fmt.Errorf("the folder %s cannot be made: %w", filepath.Dir(folder), errors.Unwrap(err))
	}
	partial, err := os.MkdirTemp(filepath.Dir(folder), ".import-")
	if err != nil {
		return fmt.Errorf("nothing can be written into %s: %w", filepath.Dir(folder), errors.Unwrap(err))
	}
	defer os.RemoveAll(partial)
	made := filepath.Join(partial, filepath.Base(folder))
	if err := os.Mkdir(made, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(made, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	if _, err := opfolder.Open(made); err != nil {
		// the folder of the error is removed
		return fmt.Errorf("what was found makes no operator: %s", strings.ReplaceAll(err.Error(),
			made+string(filepath.Separator), ""))
	}
	return os.Rename(made, folder)
}
