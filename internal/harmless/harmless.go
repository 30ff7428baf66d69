// Package harmless escapes untrusted text, such as file names, compiler messages and fields of a merged
// database, for display on a terminal, in the log of a CI system or in a spreadsheet.
package harmless

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// isControl reports whether a terminal obeys a rune instead of showing it, or reorders what follows it.
func isControl(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
		r == 0x2028 || r == 0x2029
}

// Line escapes text for one line: line ends and tabs become spaces, and control characters become visible.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case isControl(r):
			return utf8.RuneError
		}
		return r
	}, strings.TrimSpace(text))
}

// FirstLine returns the first line of a text that is not blank, without the spaces around it; "" where all
// are.
func FirstLine(text string) string {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			return line
		}
	}
	return ""
}

// Name makes a printable name of arbitrary bytes: what cannot be shown, and any character of others, becomes
// an underscore.
func Name(text, others string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) || isControl(r) || strings.ContainsRune(others, r) {
			return '_'
		}
		return r
	}, text)
}

// Cell escapes text that a spreadsheet would take for a formula.
func Cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// markdown escapes the characters with which Markdown, or the HTML in it, begins something.
var markdown = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "*", "&#42;",
	"`", "&#96;", "](", "]&#40;", "\\", "&#92;")

// Markdown escapes one line of text for a page of Markdown and for a cell of its tables. An underscore inside
// a word has no meaning there.
func Markdown(text string) string { return markdown.Replace(Line(text)) }

// MarkdownCode makes one line of text a code span, in which nothing else begins.
func MarkdownCode(text string) string {
	text = Line(text)
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	if len(fence) > 1 {
		return fence + " " + text + " " + fence
	}
	return fence + text + fence
}

// Writer passes text on and escapes what untrusted sources may have put into it: control characters become
// visible, except for line ends, tabs and, on a terminal, triad's colours; no line begins with a GitHub
// Actions command. It is safe for concurrent use.
type Writer struct {
	to      io.Writer
	colours bool

	mu    sync.Mutex
	held  []byte // the beginning of a rune or of a colour
	begun bool   // the line has a character that is no space
	last  rune
}

// NewWriter returns a Writer to another one; colours is for a terminal.
func NewWriter(to io.Writer, colours bool) *Writer { return &Writer{to: to, colours: colours} }

// Unwrap returns the underlying writer.
func (w *Writer) Unwrap() io.Writer { return w.to }

// colour matches the sequences that triad uses for colours: none hides what follows, or moves it.
var colour = regexp.MustCompile(`^\x1b\[(?:0|1|2|22|39|3[1-6](?:;1)?|1;3[1-6]|9[0-7])?m`)

// longestColour is the length of the longest such sequence.
const longestColour = len("\x1b[31;1m")

// Write consumes all of p; an incomplete character at its end waits for the rest.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := append(w.held, p...)
	w.held = nil
	var out []byte
	for len(text) > 0 {
		n := 0
		if out, n = w.next(out, text); n == 0 {
			w.held = append([]byte(nil), text...)
			break
		}
		text = text[n:]
	}
	if _, err := w.to.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// next appends the escaped beginning of text to out, and returns how many bytes it consumed; 0 if more has to
// come.
func (w *Writer) next(out, text []byte) ([]byte, int) {
	if text[0] == 0x1b && w.colours {
		if found := colour.Find(text); found != nil {
			return append(out, found...), len(found)
		}
		if len(text) < longestColour && unfinished.Match(text) {
			return out, 0
		}
	}
	if text[0] == '\r' && len(text) == 1 {
		return out, 0
	}
	if !utf8.FullRune(text) {
		return out, 0
	}
	r, n := utf8.DecodeRune(text)
	switch {
	case r == '\r' && text[1] == '\n': // the end of a line, as some write it
		return out, n
	case r == '\n':
		out, w.begun = append(out, '\n'), false
	case r == utf8.RuneError && n == 1, r != '\t' && isControl(r):
		out, w.begun = utf8.AppendRune(out, utf8.RuneError), true
	case r == ':' && !w.begun: // "::error::", at the beginning of a line
		if len(text) == 1 {
			return out, 0
		}
		if text[1] == ':' {
			out = append(out, ": "...)
		} else {
			out = append(out, ':')
		}
		w.begun = true
	case r == '[' && w.last == '#': // "##[error]", anywhere in a line
		out, w.begun = append(out, " ["...), true
	default:
		out = append(out, text[:n]...)
		w.begun = w.begun || !unicode.IsSpace(r)
	}
	w.last = r
	return out, n
}

// unfinished matches an incomplete colour sequence.
var unfinished = regexp.MustCompile(`^\x1b(?:\[[0-9;]*)?$`)

// Flush passes on an incomplete character.
func (w *Writer) Flush() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	held := w.held
	w.held = nil
	for i, b := range held {
		if b < ' ' || b >= 0x7f {
			held[i] = '?'
		}
	}
	_, err := w.to.Write(held)
	return err
}
