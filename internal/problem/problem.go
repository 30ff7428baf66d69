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
	"maps"
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

// Format is a convention in which problems are published. The Python module problem_describe_NAME describes
// its problems, and problem_NAME calls their references and submissions, and runs the format's own check.
type Format interface {
	Name() string
	// Endings returns the endings of the files that hold its problems.
	Endings() []string
	// Parts returns the names of the problems in a file, "" for one that is the whole file; none where it
	// holds none of this format.
	Parts(path string, text []byte) []string
	// Operator returns the name of the operator that a problem becomes.
	Operator(path, part string) string
	// Files returns the paths of the files that a problem consists of, by the names under which they are
	// kept, and the name of the one that was detected.
	Files(path string, text []byte) (files map[string]string, first string)
	// Entry returns the name of the class or function that a submission defines; "" where each problem has
	// its own.
	Entry() string
	// Packed returns the ending of files of another kind than Python in which submissions are packed, "" for
	// none.
	Packed() string
}

// plain holds what formats have in common whose submissions are files of CUDA or Python.
type plain struct{}

func (plain) Packed() string { return "" }

// oneFile holds what formats have in common whose problem is a file of Python.
type oneFile struct{ plain }

// Endings returns that of Python.
func (oneFile) Endings() []string { return []string{".py"} }

// Files returns the file alone.
func (oneFile) Files(path string, _ []byte) (map[string]string, string) {
	const name = "problem.py"
	return map[string]string{name: path}, name
}

// whole returns the part of a file that is one problem, where it is one.
func whole(is bool) []string {
	if !is {
		return nil
	}
	return []string{""}
}

// formats lists what can be imported.
var formats = []Format{
	deck{}, kernelBench{}, leetGPU{}, tensara{}, gpuMode{}, tritonPuzzles{}, flashInfer{}, robustKBench{},
}

// moduleOf returns the name of the Python module of a format.
func moduleOf(format string) string { return "problem_" + strings.ReplaceAll(format, "-", "_") }

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
	Part     string // its name in the file, "" where it is the whole file
	Operator string // the name of the operator that it becomes
}

// Source identifies the files that a problem was imported from.
type Source struct {
	Files  map[string][]byte // by the names under which they are kept
	First  string            // the name of the one at Path
	SHA256 string            // of the file, or of the list of the hashes of several
	Path   string            // absolute
	Commit string            // of its repository, "" for none
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
		found, err := detect(path, format)
		if err != nil {
			return refuse("%v", err)
		}
		return found, nil
	}
	var found []Problem
	files := 0
	root := path + string(filepath.Separator) // also of a link to a folder
	err = filepath.WalkDir(root, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil // what cannot be read holds no problem for us
		case d.IsDir() && at != root && strings.HasPrefix(d.Name(), "."):
			return filepath.SkipDir
		case !d.Type().IsRegular() || !mayHold(at):
			return nil
		}
		if files++; files > mostFiles {
			return fmt.Errorf("it holds more than %d files that may hold problems: name a folder in it",
				mostFiles)
		}
		if more, err := detect(at, format); err == nil {
			found = append(found, more...)
		}
		return nil
	})
	if err != nil {
		return refuse("%v", err)
	}
	return found, nil
}

// mayHold reports whether a file has the ending of those that hold problems.
func mayHold(path string) bool {
	return slices.ContainsFunc(formats, func(f Format) bool {
		return slices.Contains(f.Endings(), filepath.Ext(path))
	})
}

// detect returns the problems that a file holds.
func detect(path, format string) ([]Problem, error) {
	text, err := readCode(path)
	if err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	for _, f := range formats {
		if format != "" && f.Name() != format || !slices.Contains(f.Endings(), filepath.Ext(path)) {
			continue
		}
		var found []Problem
		for _, part := range f.Parts(path, text) {
			found = append(found, Problem{path, f.Name(), part, f.Operator(path, part)})
		}
		if len(found) > 0 {
			return found, nil
		}
	}
	wanted := strings.Join(Formats(), ", ")
	if format != "" {
		wanted = format
	}
	return nil, fmt.Errorf("it holds no problem of a format that triad imports: %s", wanted)
}

// Request asks for the description of a problem.
type Request struct {
	Format  string            `json:"format"`
	Files   map[string]string `json:"files"` // their texts, by name
	File    string            `json:"file"`  // the name of the first
	Part    string            `json:"part"`  // the problem's name in it
	Seconds int               `json:"seconds"`
	// Elements limits the tensors of an audit: the problem's own sizes are cut to so many; 0: the usual
	// number
	Elements int64 `json:"elements,omitempty"`
}

// Describe returns what a process that may run a problem's code says about it: a Description as JSON.
type Describe func(ctx context.Context, r Request) ([]byte, error)

// StartError is the error of a process that describes problems and could not be started: every problem would
// meet it.
type StartError struct{ Err error }

func (e *StartError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.Err }

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
	source, err := read(ctx, p)
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
	text, err := describe(ctx, source.request(p))
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

func read(ctx context.Context, p Problem) (Source, error) {
	absolute, err := filepath.Abs(p.Path)
	if err != nil {
		return Source{}, err
	}
	first, err := readCode(p.Path)
	if err != nil {
		return Source{}, fmt.Errorf("it cannot be read: %w", err)
	}
	paths, name := formatNamed(p.Format).Files(p.Path, first)
	source := Source{Files: map[string][]byte{name: first}, First: name, Path: absolute}
	for other, path := range paths {
		if other == name {
			continue
		}
		if source.Files[other], err = userfile.Read(path); err != nil {
			return Source{}, fmt.Errorf("its file %s cannot be read: %w", other, err)
		}
	}
	for other, text := range source.Files {
		if i := bytes.IndexByte(text, 0); i >= 0 {
			which := "it is no Python"
			if other != name {
				which = "its file " + other + " is no text"
			}
			line := 1 + bytes.Count(text[:i], []byte("\n"))
			return Source{}, fmt.Errorf("%s: line %d has a byte 0", which, line)
		}
	}
	source.SHA256 = source.sum()
	source.Commit = strings.TrimPrefix(fileversion.Commit(ctx, p.Path), ", ")
	return source, nil
}

// sum returns the hash of the file; of several files, that of the list of their hashes and names.
func (s *Source) sum() string {
	if len(s.Files) == 1 {
		return sum(s.Files[s.First])
	}
	var all strings.Builder
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		fmt.Fprintf(&all, "%s  %s\n", sum(s.Files[name]), name)
	}
	return sum([]byte(all.String()))
}

// request asks for the description of what was read.
func (s *Source) request(p Problem) Request {
	r := Request{Format: p.Format, File: s.First, Part: p.Part, Files: map[string]string{}}
	for name, text := range s.Files {
		r.Files[name] = strings.ToValidUTF8(string(text), "\uFFFD")
	}
	return r
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
