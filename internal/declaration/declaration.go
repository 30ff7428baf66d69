// Package declaration reads and writes the line above a function that says what the function computes and
// what its parameters stand for:
//
//	// triad: softmax(x=input, y=output, rows=M, cols=N)
//
// In Python the line begins with #. The package knows the grammar and the place of every word. The meaning of
// the words is decided when a function is matched to an operator.
package declaration

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Open marks in a line what is still to be filled in.
const Open = "?"

// example is shown to users whose line is invalid.
const example = "softmax(x=input, y=output, rows=M, cols=N)"

// marker follows the sign of a comment.
const marker = "triad:"

// Place is a position in a file. Lines and columns count from 1, columns in characters.
type Place struct{ Line, Column int }

// Word is one key=value of a line.
type Word struct {
	Key, Value string
	At         Place // of the key
	ValueAt    Place
}

// Line is one parsed declaration.
type Line struct {
	Operator string
	At       Place // of the operator's name
	Indented bool
	Words    []Word
}

// Error is the error of an invalid line, with its place.
type Error struct {
	Place
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message) }

// Errorf returns an error at p.
func (p Place) Errorf(format string, a ...any) *Error { return &Error{p, fmt.Sprintf(format, a...)} }

// Find reads the lines of a text whose comments begin with a sign, // or #. The error is an *Error.
func Find(text, sign string) ([]Line, error) {
	var all []Line
	number := 0
	for line := range strings.Lines(text) {
		number++
		written, is := behindMarker(line, sign)
		if !is {
			continue
		}
		p := parser{text: written, number: number, before: columns(line[:strings.LastIndex(line, written)])}
		if written == "" {
			p.before = columns(strings.TrimRightFunc(line, unicode.IsSpace))
		}
		one, err := p.line()
		if err != nil {
			return nil, err
		}
		one.Indented = strings.TrimLeft(line, " \t") != line
		all = append(all, one)
	}
	return all, nil
}

// behindMarker returns the rest of a line after the marker.
func behindMarker(line, sign string) (written string, is bool) {
	comment, is := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(line, "\ufeff")), sign)
	if !is {
		return "", false
	}
	return strings.CutPrefix(strings.TrimSpace(comment), marker)
}

// MayBeIn reports whether a text may contain declarations.
func MayBeIn(text string) bool { return strings.Contains(text, marker) }

// Without returns a text without the contents of its lines, so that they are not read as part of the file.
func Without(text, sign string) string {
	if !MayBeIn(text) {
		return text
	}
	var all strings.Builder
	for line := range strings.Lines(text) {
		if written, is := behindMarker(line, sign); is {
			line = strings.Replace(line, marker+written, "", 1)
		}
		all.WriteString(line)
	}
	return all.String()
}

func columns(text string) int { return utf8.RuneCountInString(text) }

// parser parses the text after the marker.
type parser struct {
	text   string
	at     int
	number int // of the line
	before int // characters of the line before the text
}

func (p *parser) place(at int) Place { return Place{p.number, p.before + columns(p.text[:at]) + 1} }

func (p *parser) blanks() {
	p.at += len(p.text[p.at:]) - len(strings.TrimLeftFunc(p.text[p.at:], unicode.IsSpace))
}

// found describes the text at the parser's position.
func (p *parser) found() string {
	if p.at >= len(p.text) {
		return "the end of the line"
	}
	rest := []rune(p.text[p.at:])
	return fmt.Sprintf("%q", string(rest[:min(len(rest), 20)]))
}

func (p *parser) wants(what string) *Error {
	return p.place(p.at).Errorf("found %s, want %s", p.found(), what)
}

func (p *parser) line() (Line, error) {
	p.blanks()
	start := p.at
	for p.at < len(p.text) && (isWord(p.text[p.at]) || p.text[p.at] == '-') {
		p.at++
	}
	l := Line{Operator: p.text[start:p.at], At: p.place(start)}
	if l.Operator == "" {
		return l, p.wants("an operator, as in " + example)
	}
	p.blanks()
	if p.at >= len(p.text) || p.text[p.at] != '(' {
		return l, p.wants("( behind " + l.Operator)
	}
	p.at++
	p.blanks()
	for p.at >= len(p.text) || p.text[p.at] != ')' {
		word, err := p.word()
		if err != nil {
			return l, err
		}
		l.Words = append(l.Words, word)
		if p.at < len(p.text) && p.text[p.at] == ',' {
			p.at++
			p.blanks()
		} else if p.at >= len(p.text) || p.text[p.at] != ')' {
			return l, p.wants(", or )")
		}
	}
	p.at++
	p.blanks()
	if p.at < len(p.text) {
		return l, p.wants("the end of the line")
	}
	return l, nil
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// word reads key=value. The last = counts, since a key may be several sizes that are equal: m=n=N. A value in
// quotes may hold anything but quotes; another one ends with a comma outside of parentheses.
func (p *parser) word() (Word, error) {
	start, equals := p.at, -1
	for depth := 0; p.at < len(p.text); p.at++ {
		c := p.text[p.at]
		if c == '"' || depth == 0 && (c == ',' || c == ')') {
			break
		}
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == '=' && depth == 0:
			equals = p.at
		}
	}
	if equals < 0 {
		p.at = start
		return Word{}, p.wants("key=value, as in x=input")
	}
	w := Word{Key: strings.TrimSpace(p.text[start:equals]), At: p.place(start)}
	value := p.text[equals+1 : p.at]
	w.ValueAt = p.place(equals + 1 + len(value) - len(strings.TrimLeftFunc(value, unicode.IsSpace)))
	w.Value = strings.TrimSpace(value)
	if p.at < len(p.text) && p.text[p.at] == '"' {
		length := strings.IndexByte(p.text[p.at+1:], '"')
		if w.Value != "" || length < 0 {
			return w, p.wants("one value in quotes that are closed")
		}
		w.ValueAt, w.Value = p.place(p.at), p.text[p.at+1:p.at+1+length]
		p.at += length + 2
		p.blanks()
	}
	switch {
	case w.Key == "":
		return w, w.At.Errorf("found no key before =, want key=value, as in x=input")
	case w.Value == "":
		return w, w.ValueAt.Errorf("found no value of %s, want key=value, as in x=input", w.Key)
	}
	return w, nil
}

// Text returns the line as a comment that begins with a sign.
func (l Line) Text(sign string) string {
	var words []string
	for _, w := range l.Words {
		words = append(words, w.Key+"="+quoted(w.Value))
	}
	return sign + " " + marker + " " + l.Operator + "(" + strings.Join(words, ", ") + ")"
}

// quoted returns a value, in quotes if a comma would end it.
func quoted(value string) string {
	depth := 0
	for _, c := range value {
		switch c {
		case '(':
			depth++
		case ')':
			depth--
		}
		if depth < 0 || depth == 0 && strings.ContainsRune(",=", c) {
			return `"` + value + `"`
		}
	}
	return value
}

// Above returns the lines of a file with l inserted above the function at the given line and everything that
// belongs to the function. The new line has the indentation and the ending of the line below it.
func (l Line) Above(lines []string, function int, sign string) (all []string, at int, ok bool) {
	if function < 0 || function >= len(lines) {
		return nil, 0, false
	}
	at = headOf(lines, function, sign == "#")
	below, mark := lines[at], ""
	if rest, marked := strings.CutPrefix(below, "\ufeff"); marked {
		below, mark = rest, "\ufeff"
	}
	text := mark + below[:len(below)-len(strings.TrimLeft(below, " \t"))] + l.Text(sign)
	if strings.HasSuffix(below, "\r") {
		text += "\r"
	}
	all = slices.Insert(slices.Clone(lines), at, text)
	all[at+1] = below
	return all, at, true
}

// headOf returns the first line of a function, including its decorators in Python, in C++ its template head
// and everything before its name.
func headOf(lines []string, function int, python bool) int {
	head := function
	for at := function - 1; at >= 0; at-- {
		line := strings.TrimRight(lines[at], " \t\r")
		begins := func(signs string) bool { return line != "" && strings.Contains(signs, line[:1]) }
		ends := func(signs string) bool { return line != "" && strings.Contains(signs, line[len(line)-1:]) }
		switch {
		case python && begins("@"):
			head = at
		case python && begins(" \t)]}#"): // of a decorator of several lines, or a comment
		case python, line == "", ends(";{}:/\\)"), begins("#/*"):
			return head
		default:
			head = at
		}
	}
	return head
}
