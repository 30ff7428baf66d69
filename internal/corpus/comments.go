package main

import "strings"

// withoutComments returns the text of a solution, which is Python, without its comments: Python's, among
// them each string that is a statement by itself, and those of C++ in its other strings, which may be
// CUDA.
func withoutComments(text string) string {
	var code strings.Builder
	depth, begins := 0, true // the brackets that are open, and whether a statement may begin here
	for i := 0; i < len(text); {
		quote, c := i+prefixOfString(text[i:]), text[i]
		switch {
		case c == '#':
			i += len(firstLine(text[i:]))
			continue
		case quote < len(text) && strings.IndexByte(`"'`, text[quote]) >= 0:
			end := endOfString(text, quote)
			after := strings.TrimLeft(firstLine(text[end:]), " \t\r;")
			if !begins || after != "" && after[0] != '#' {
				code.WriteString(withoutCppComments(text[i:end]))
			}
			i, begins = end, false
			continue
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case strings.IndexByte(")]}", c) >= 0:
			depth = max(depth-1, 0)
		}
		if c == '\n' {
			begins = depth == 0 && !strings.HasSuffix(strings.TrimSuffix(text[:i], "\r"), `\`)
		} else if strings.IndexByte(" \t\r", c) < 0 {
			begins = false
		}
		code.WriteByte(c)
		i++
	}
	return code.String()
}

// withoutCppComments returns a string of Python without the comments that C++ sees in it.
func withoutCppComments(literal string) string {
	var code strings.Builder
	for i := 0; i < len(literal); {
		rest, end := literal[i:], 1
		switch {
		case strings.HasPrefix(rest, "//"):
			line := firstLine(rest)
			if at := strings.Index(line, `\n`); at >= 0 { // a new line where the string is in one
				line = line[:at]
			}
			i += len(line)
			continue
		case strings.HasPrefix(rest, "/*"):
			end = len(rest)
			if at := strings.Index(rest[2:], "*/"); at >= 0 {
				end = 2 + at + 2
			}
			code.WriteByte(' ')
			i += end
			continue
		case rest[0] == '"' && i > 0: // a string of C++, if it ends in this line
			if at := strings.IndexByte(firstLine(rest[1:]), '"'); at >= 0 {
				end = 1 + at + 1
			}
		}
		code.WriteString(rest[:end])
		i += end
	}
	return code.String()
}

// endOfString returns where the string of Python ends whose quote is at a place.
func endOfString(text string, at int) int {
	quote := text[at : at+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(text[at:], triple) {
		quote = triple
	}
	for i := at + len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\':
			i++
		case strings.HasPrefix(text[i:], quote):
			return i + len(quote)
		case text[i] == '\n' && len(quote) == 1: // it has no end
			return i
		}
	}
	return len(text)
}

// prefixOfString returns the length of what may stand before a quote: r, b, f, u and pairs of them.
func prefixOfString(text string) int {
	n := 0
	for n < len(text) && n < 2 && strings.IndexByte("rRbBfFuU", text[n]) >= 0 {
		n++
	}
	return n
}

// firstLine returns a text up to the end of its first line.
func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
