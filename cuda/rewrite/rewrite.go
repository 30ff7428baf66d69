// Package rewrite turns CUDA C++ into C++17 for the emulator. It changes only what a C++ compiler cannot
// read, or would read differently: kernel launches and a NULL among their arguments, declarations of shared
// memory, the keyword __noinline__, inline PTX, and conditions that compare __CUDA_ARCH__; every other word
// of CUDA is a macro or a function of the emulator's headers. It works on text and touches no file.
package rewrite

import (
	"bytes"
	"fmt"
	"sort"
	"strings"
)

// Result is a rewritten file.
type Result struct {
	// Text begins with a #line directive that names the original; after it there is one line for each line of
	// the original, so that compilers, sanitizers and debuggers show the author's lines.
	Text  []byte
	Notes []Note
}

// Note is something the author should know about a line that was left unchanged.
type Note struct {
	Line int // from 1
	Text string
}

// Error is a place that cannot be rewritten, and what to write instead.
type Error struct {
	File string
	Line int // from 1
	Text string
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Text) }

// Source rewrites the text of the file called name. The error is an *Error.
func Source(name string, text []byte) (Result, error) {
	text = withoutMark(text)
	code, macros := mask(text)
	f := &file{name: name, text: text, kernels: kernelsOf(code)}
	inFunction := functionScope(code)
	if err := f.rewrite(code, inFunction); err != nil {
		return Result{}, err
	}
	f.architecture(code, inFunction)
	f.bindShared(code)
	for _, macro := range macros {
		if err := f.rewrite(macro, nil); err != nil {
			return Result{}, err
		}
	}
	body, err := f.apply()
	if err != nil {
		return Result{}, err
	}
	sort.SliceStable(f.notes, func(i, j int) bool { return f.notes[i].Line < f.notes[j].Line })
	return Result{Text: append([]byte("#line 1 "+quote(name)+"\n"), body...), Notes: f.notes}, nil
}

// Code returns text with comments, the insides of literals and preprocessor lines blanked.
func Code(text []byte) []byte {
	code, _ := mask(text)
	return code
}

// withoutMark returns a text with blanks for the UTF-8 byte order mark that editors put at its beginning:
// compilers skip it there, and refuse it in the middle of a text.
func withoutMark(text []byte) []byte {
	if rest, marked := bytes.CutPrefix(text, []byte("\ufeff")); marked {
		return append([]byte("   "), rest...)
	}
	return text
}

// Include is a file that a text includes: in quotes, which are looked for in the text's folder first, or in
// <>.
type Include struct {
	Name        string
	Quoted      bool
	Line        int
	Conditional bool // under an #if
}

// Includes lists the files that text includes, in order.
func Includes(text []byte) []Include {
	text = withoutMark(text)
	var all []Include
	depth := 0
	for _, d := range directives(maskLiterals(text)) {
		line := bytes.TrimSpace(text[d.start+1 : d.end])
		switch {
		case bytes.HasPrefix(line, []byte("if")):
			depth++
		case bytes.HasPrefix(line, []byte("endif")):
			depth--
		}
		rest, ok := bytes.CutPrefix(line, []byte("include"))
		if !ok {
			continue
		}
		rest = bytes.TrimLeft(rest, " \t")
		if len(rest) == 0 || rest[0] != '"' && rest[0] != '<' {
			continue
		}
		quoted := rest[0] == '"'
		closing := byte('>')
		if quoted {
			closing = '"'
		}
		if end := bytes.IndexByte(rest[1:], closing); end > 0 {
			at := 1 + bytes.Count(text[:d.start], []byte("\n"))
			all = append(all, Include{string(rest[1 : 1+end]), quoted, at, depth > 0})
		}
	}
	return all
}

// file collects the changes to one text.
type file struct {
	name  string
	text  []byte
	edits []edit
	notes []Note
	count int // of the structs made for shared memory, which gives each its name

	outside    []string // names of dynamic shared memory that is declared outside functions
	fileShared []fileShared

	kernels kernels
}

// edit replaces text[start:end].
type edit struct {
	start, end int
	text       string
}

// rewrite finds everything to change in one masked view of the text. inFunction reports whether an offset
// lies in a function's body; nil if that cannot be known (the body of a macro).
func (f *file) rewrite(view []byte, inFunction func(int) bool) error {
	for at := 0; at < len(view); at++ {
		switch {
		case signEnd(view, at, '<') > 0:
			end := signEnd(view, at, '<')
			if err := f.launch(view, at, end); err != nil {
				return err
			}
			at = end - 1
		case wordStart(view, at):
			end := wordEnd(view, at)
			var err error
			switch string(view[at:end]) {
			case "__shared__":
				err = f.shared(view, at, inFunction)
			case "__noinline__":
				f.noinline(view, at)
			case "cudaLaunchKernel", "cudaLaunchCooperativeKernel":
				f.byPointer(view, skip(view, end))
			case "func":
				f.nodeFunction(view, skip(view, end))
			case "asm", "__asm", "__asm__":
				f.assembly(view, at, end)
			}
			if err != nil {
				return err
			}
			at = end - 1
		}
	}
	return nil
}

// noinline spells the keyword as an attribute. Inside __attribute__((...)) the same word is already one.
func (f *file) noinline(view []byte, at int) {
	if before := skipBack(view, at); before > 0 && (view[before-1] == '(' || view[before-1] == ',') {
		return
	}
	f.edits = append(f.edits, edit{at, at + len("__noinline__"), "__attribute__((noinline))"})
}

func (f *file) line(at int) int { return 1 + bytes.Count(f.text[:min(at, len(f.text))], []byte("\n")) }

func (f *file) errorf(at int, format string, args ...any) error {
	return &Error{File: f.name, Line: f.line(at), Text: fmt.Sprintf(format, args...)}
}

// apply makes the changes. It cannot make one change inside another.
func (f *file) apply() ([]byte, error) {
	sort.Slice(f.edits, func(i, j int) bool { return f.edits[i].start < f.edits[j].start })
	var out []byte
	last := 0
	for _, e := range f.edits {
		if e.start < last {
			return nil, f.errorf(e.start, "a launch or a shared declaration inside the configuration of "+
				"another: take it out into a statement of its own")
		}
		out = append(append(out, f.text[last:e.start]...), e.text...)
		last = e.end
	}
	return append(out, f.text[last:]...), nil
}

// quote writes s as a C string literal.
func quote(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
