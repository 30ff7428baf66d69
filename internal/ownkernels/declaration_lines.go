package ownkernels

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"golang.org/x/sys/unix"

	"triad/internal/declaration"
	"triad/internal/op"
	"triad/internal/ownfile"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/declared"
	"triad/internal/userfile"
)

// Propose keeps the line of a right interpretation of a pass if the judged one is wrong; one of an open
// operator if none is right.
func (f *File) Propose(pass op.Pass, line declaration.Line) {
	if line.Operator == "" {
		return
	}
	if f.proposed == nil {
		f.proposed = map[op.Pass]declaration.Line{}
	}
	f.proposed[pass] = line
}

// WriteLines puts above each judged function the line that says how it is read, and returns sentences about
// what it did. A file is left unchanged if it cannot be written, if it changed meanwhile, or if the line
// would change how it is read.
func WriteLines(files []*File) (sentences []string) {
	for _, f := range files {
		sentences = append(sentences, f.writeLines(files)...)
	}
	return sentences
}

// writeLines writes the lines of one of several files, some of which may be other functions of the same file.
func (f *File) writeLines(files []*File) (sentences []string) {
	for _, b := range f.Bindings {
		line, ok := ownfile.Declaration(b)
		if proposed, is := f.proposed[b.Pass]; is {
			line, ok = proposed, true
		}
		at := declared.LineSays(b)
		var err error
		switch {
		case declared.SharesLine(b):
			continue
		case at > 0:
			err = fmt.Errorf("line %d says already how %s is read", at, b.Function.Name)
		case line.Operator == declaration.Open:
			err = fmt.Errorf("%s was not right as triad reads it, and its row says what is open",
				b.Function.Name)
		case !ok:
			err = fmt.Errorf("no line can say how %s is read", b.Function.Name)
		default:
			at, err = f.writeLine(b, line, files)
		}
		if err != nil {
			sentences = append(sentences, fmt.Sprintf("%s is left as it is: %v.", f.Path, err))
			continue
		}
		sentences = append(sentences, fmt.Sprintf("Line %d of %s, above %s, is now: %s", at, f.Path,
			b.Function.Name, line.Text(b.Sign())))
	}
	return sentences
}

// writeLine puts a line above a function and returns its line number.
func (f *File) writeLine(b *binding.Binding, line declaration.Line, files []*File) (int, error) {
	request, err := ownfile.ParseRequest(f.interpretation.Request)
	if err != nil {
		return 0, err
	}
	request.Parse = f.interpretation.Workers.Parse
	if named, err := filepath.Abs(request.Path); err != nil || named != f.Path {
		return 0, fmt.Errorf("it is not the file that was named, %s", request.Path)
	}
	path, err := filepath.EvalSymlinks(f.Path)
	if err != nil {
		return 0, fmt.Errorf("find the file: %w", err)
	}
	content, err := userfile.Read(path)
	if err != nil {
		return 0, fmt.Errorf("read it again: %w", err)
	}
	if string(content) != f.Text() {
		return 0, fmt.Errorf("it has changed since it was read")
	}
	function := b.Function.Line - 1
	for _, above := range f.written {
		if function >= above {
			function++
		}
	}
	lines, at, ok := line.Above(f.lines, function, b.Sign())
	text := strings.Join(lines, "\n")
	if !ok || !f.readsAlike(b, request, text) {
		return 0, fmt.Errorf("with a line above %s it would be read otherwise", b.Function.Name)
	}
	info, err := os.Stat(path)
	if err == nil && info.Mode().Perm()&0o222 == 0 {
		err = unix.EACCES // root may write it anyway
	}
	if err == nil {
		err = unix.Access(path, unix.W_OK)
	}
	if err == nil {
		err = renameio.WriteFile(path, []byte(text), info.Mode().Perm(), renameio.WithExistingPermissions())
	}
	if err != nil {
		return 0, fmt.Errorf("it cannot be written: %w", err)
	}
	for _, same := range files {
		if same.Path != f.Path {
			continue
		}
		same.lines, same.written = lines, append(same.written, at)
	}
	return at + 1, nil
}

// readsAlike reports whether a text's line makes a function read as it was judged, with no other
// interpretation proposed.
func (f *File) readsAlike(b *binding.Binding, request binding.Request, text string) bool {
	content := []byte(text)
	if f.inline != "" {
		made := &File{Path: f.Path, interpretation: f.interpretation}
		var err error
		if content, err = made.takeInline(&request, content); err != nil {
			return false
		}
	}
	request.Function, request.Pass = b.Function.Name, b.Pass
	// The line must express everything that the user said about the call.
	r, o := f.interpretation, f.interpretation.Options
	r.Options = binding.Options{
		Flags: o.Flags, DTypes: o.DTypes, Contract: o.Contract, Operators: o.Operators,
	}
	again, err := r.bind(request, f.Path, content)
	if err != nil {
		return false
	}
	_, proposed := f.proposed[b.Pass]
	return slices.ContainsFunc(again, func(other *binding.Binding) bool {
		return other.Pass == b.Pass && declared.LineSays(other) > 0 && (proposed || declared.SameAs(b, other))
	})
}
