// Package harmless makes text of others, such as names of files, messages of compilers and fields of a merged
// database, harmless where it is shown: on a terminal, in the log of a CI system, in a spreadsheet.
package harmless

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// isControl says whether a terminal obeys a rune instead of showing it, or shows what follows it in another
// order.
func isControl(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 ||
		r == 0x2028 || r == 0x2029
}

// Line makes text harmless that stands in one line: what ends a line is a space, what a terminal obeys is
// visible.
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

// Name makes a name of what may be no text at all: what cannot be shown, and what is among others, is an
// underscore.
func Name(text, others string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) || isControl(r) || strings.ContainsRune(others, r) {
			return '_'
		}
		return r
	}, text)
}

// Cell makes a text of a table harmless that a spreadsheet would take for a formula.
func Cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}

// markdown are the characters with which Markdown, or the HTML in it, begins something.
var markdown = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "*", "&#42;",
	"`", "&#96;", "](", "]&#40;", "\\", "&#92;")

// Markdown makes text of one line harmless in a page of Markdown and in a cell of its tables. An underscore
// in a word means nothing there.
func Markdown(text string) string { return markdown.Replace(Line(text)) }

// MarkdownCode makes one line of text a span of code, in which nothing else begins.
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

// Writer hands text on, and makes harmless what others may have put into it: control characters are visible,
// but for line ends, tabs and on a terminal the colours of triad; no line begins with what GitHub Actions
// takes for a command. It is safe for several goroutines.
type Writer struct {
	to      io.Writer
	colours bool

	mu    sync.Mutex
	held  []byte // the beginning of a rune or of a colour
	begun bool   // the line has something that is no space
	last  rune
}

// NewWriter is a Writer to another one; colours says that it is a terminal.
func NewWriter(to io.Writer, colours bool) *Writer { return &Writer{to: to, colours: colours} }

// Unwrap is where the text goes.
func (w *Writer) Unwrap() io.Writer { return w.to }

// colour is one of the sequences that triad paints with: none hides what follows, or moves it.
var colour = regexp.MustCompile(`^\x1b\[(?:0|1|2|22|39|3[1-6](?:;1)?|1;3[1-6]|9[0-7])?m`)

// longestColour is how long one of them can be.
const longestColour = len("\x1b[31;1m")

// Write takes all of p; the beginning of a character at its end waits for the rest.
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

// next adds what text begins with to out, and gives how many bytes that was; 0 where more has to come.
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

// unfinished is the beginning of a colour.
var unfinished = regexp.MustCompile(`^\x1b(?:\[[0-9;]*)?$`)

// Flush hands on what waits for the rest of a character.
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
