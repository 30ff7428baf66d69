package build

import (
	"bytes"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/cuda/rewrite"
)

var (
	placeBehind = regexp.MustCompile(`\(at (\S+):(\d+)\)$`)
	onDevice    = regexp.MustCompile(`\b__(?:global|device|constant|shared|managed)__\b`)
	typeHead    = regexp.MustCompile(`^\s*(?:template\s*<[^<>]*>\s*)?` +
		`(?:struct|class|union|enum|typedef)\b|=\s*$`)
	openHead = regexp.MustCompile(`^\s*(?:inline\s+)?namespace\b[^;(){}]*$|^\s*extern\s*("[^"]*")?\s*$`)
)

// blankItemOf blanks the function or declaration of the host in which a user's file does not compile. It
// reports whether there is one.
func (s *SourceSet) blankItemOf(refused *Error) bool {
	name, line := refused.File, refused.Line
	if m := placeBehind.FindStringSubmatch(refused.Message); m != nil {
		name = m[1]
		line, _ = strconv.Atoi(m[2])
	}
	for at, file := range s.Files {
		if file.Name != name || !s.isOfUser(at) {
			continue
		}
		code := rewrite.Code(file.Text)
		from, to := itemAt(code, line)
		if len(code) != len(file.Text) || from == to || onDevice.Match(code[from:to]) ||
			len(bytes.TrimSpace(code[from:to])) == 0 {
			return false
		}
		s.Files[at] = SourceFile{file.Name, slices.Concat(file.Text[:from], directivesOf(file.Text[from:to]),
			file.Text[to:])}
		return true
	}
	return false
}

// directivesOf returns the directives and line ends of a text.
func directivesOf(text []byte) (left []byte) {
	continued := false
	for line := range bytes.Lines(text) {
		if continued = continued || bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")); continued {
			left = append(left, line...)
		} else if bytes.HasSuffix(line, []byte("\n")) {
			left = append(left, '\n')
		}
		continued = continued && bytes.HasSuffix(bytes.TrimSpace(line), []byte("\\"))
	}
	return left
}

// itemAt returns the place of the function or declaration outside of functions that a line belongs to, in
// code without comments, literals and directives.
func itemAt(code []byte, line int) (from, to int) {
	start, depth, here := 0, 0, 1
	open := false // an item has braces that end it
	holds := func(end int) bool {
		first := start + len(code[start:end]) - len(bytes.TrimLeft(code[start:end], " \t\r\n"))
		return here >= line && 1+bytes.Count(code[:first], []byte("\n")) <= line
	}
	for i, c := range code {
		ends := false
		switch {
		case c == '\n':
			here++
		case c == '{' && depth == 0 && openHead.Match(code[start:i]):
			start = i + 1
		case c == '{':
			if depth == 0 {
				head := string(code[start:i])
				open = strings.Contains(head, ")") && !typeHead.MatchString(head)
			}
			depth++
		case c == '}' && depth == 0:
			start = i + 1
		case c == '}':
			depth--
			ends = depth == 0 && open
		case c == ';':
			ends = depth == 0
		}
		if ends {
			if holds(i + 1) {
				return start, i + 1
			}
			start = i + 1
		}
	}
	return 0, 0
}
