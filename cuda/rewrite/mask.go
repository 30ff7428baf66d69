package rewrite

import "bytes"

// mask returns views of text in which comments and the insides of literals are blank; each keeps the newlines
// of the text in place. In code, preprocessor lines are blank too. Each of macros is the replacement text of
// one #define, ends with it, and has nothing else. A semicolon replaces each preprocessor line and each macro
// head, so that no search runs across it.
func mask(text []byte) (code []byte, macros [][]byte) {
	code = maskLiterals(text)
	for _, d := range directives(code) {
		if body := code[d.body:d.end]; needsRewriting(body) {
			view := blank(code[:d.end])
			copy(view[d.body:], bytes.ReplaceAll(body, []byte{'\\'}, []byte{' '}))
			view[d.body-1] = ';'
			macros = append(macros, view)
		}
		copy(code[d.start:d.end], blank(code[d.start:d.end]))
		code[d.start] = ';'
	}
	return code, macros
}

// needsRewriting reports whether a masked text may hold something to change or to note.
func needsRewriting(masked []byte) bool {
	for at := 0; at < len(masked); at++ {
		if signEnd(masked, at, '<') > 0 {
			return true
		}
	}
	for _, word := range []string{
		"__shared__", "__noinline__", "asm", "cudaLaunchKernel", "cudaLaunchCooperativeKernel",
	} {
		if bytes.Contains(masked, []byte(word)) {
			return true
		}
	}
	return false
}

func blank(text []byte) []byte {
	out := bytes.Repeat([]byte{' '}, len(text))
	for i, c := range text {
		if c == '\n' {
			out[i] = '\n'
		}
	}
	return out
}

// directive is one preprocessor line with its continuations: text[start] is the '#'. For a #define,
// text[body:end] is the replacement text; else body is end.
type directive struct{ start, body, end int }

func directives(masked []byte) []directive {
	var all []directive
	fresh := true // only blanks since the start of the line
	for i := 0; i < len(masked); i++ {
		switch c := masked[i]; {
		case c == '\n':
			fresh = true
		case c == '#' && fresh:
			end := logicalLineEnd(masked, i)
			all = append(all, directive{i, macroBody(masked, i, end), end})
			i = end - 1
		case c != ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v':
			fresh = false
		}
	}
	return all
}

// macroBody returns the offset of a macro's replacement text, or end.
func macroBody(masked []byte, hash, end int) int {
	at := skip(masked, hash+1)
	if at >= end || string(masked[at:min(wordEnd(masked, at), end)]) != "define" {
		return end
	}
	at = min(wordEnd(masked, skip(masked, wordEnd(masked, at))), end)
	if at < end && masked[at] == '(' {
		for at < end && masked[at] != ')' {
			at++
		}
		at++
	}
	// One character in front of the body is free for the semicolon that ends the head: the blank or the
	// parenthesis.
	if at < end && masked[at-1] != ')' {
		at++
	}
	return min(at, end)
}

// logicalLineEnd returns the offset of the newline that ends the line of at, continuations included, or the
// length.
func logicalLineEnd(text []byte, at int) int {
	for ; at < len(text); at++ {
		if text[at] != '\n' {
			continue
		}
		before := at
		if before > 0 && text[before-1] == '\r' {
			before--
		}
		if before == 0 || text[before-1] != '\\' {
			return at
		}
	}
	return at
}

// maskLiterals blanks comments and the insides of string and character literals.
func maskLiterals(text []byte) []byte {
	out := append([]byte(nil), text...)
	erase := func(from, to int) {
		for i := from; i < to; i++ {
			if out[i] != '\n' && !(out[i] == '\\' && continues(text, i)) {
				out[i] = ' '
			}
		}
	}
	for i := 0; i < len(text); {
		end := i + 1
		switch c := text[i]; {
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			end = logicalLineEnd(text, i)
			erase(i, end)
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			end = len(text)
			if n := bytes.Index(text[i+2:], []byte("*/")); n >= 0 {
				end = i + 2 + n + 2
			}
			erase(i, end)
		case c == '"' && rawPrefix(text, i):
			end = rawEnd(text, i)
			erase(i+1, end-1)
		case c == '"', c == '\'' && !digitSeparator(text, i):
			if closing := literalEnd(text, i); closing > i {
				erase(i+1, closing)
				end = closing + 1
			}
		}
		i = end
	}
	return out
}

// continues reports whether the backslash at i joins its line to the next.
func continues(text []byte, i int) bool {
	return i+1 < len(text) && (text[i+1] == '\n' || text[i+1] == '\r' && i+2 < len(text) && text[i+2] == '\n')
}

// literalEnd returns the offset of the quote that closes the literal opened at i, or i if its line ends first
// (an apostrophe in an #error line is no literal).
func literalEnd(text []byte, i int) int {
	for j := i + 1; j < len(text); j++ {
		switch text[j] {
		case text[i]:
			return j
		case '\\':
			j++
		case '\n':
			return i
		}
	}
	return i
}

// digitSeparator reports whether the apostrophe at i stands inside a number, as in 1'000.
func digitSeparator(text []byte, i int) bool {
	start := i
	for start > 0 && (isWord(text[start-1]) || text[start-1] == '\'' || text[start-1] == '.') {
		start--
	}
	return start < i && (isDigit(text[start]) || text[start] == '.' && start+1 < i && isDigit(text[start+1]))
}

// rawPrefix reports whether the quote at i opens a raw string.
func rawPrefix(text []byte, i int) bool {
	start := i
	for start > 0 && isWord(text[start-1]) {
		start--
	}
	switch string(text[start:i]) {
	case "R", "LR", "uR", "UR", "u8R":
		return true
	}
	return false
}

// rawEnd returns the offset after the quote that closes the raw string whose first quote is at i.
func rawEnd(text []byte, i int) int {
	open := bytes.IndexByte(text[i:], '(')
	if open < 0 || open > 17 {
		return i + 1
	}
	closing := append(append([]byte{')'}, text[i+1:i+open]...), '"')
	if n := bytes.Index(text[i+open:], closing); n >= 0 {
		return i + open + n + len(closing)
	}
	return len(text)
}

// functionScope returns a function that reports whether an offset of code lies in braces other than those of
// a namespace or a linkage specification.
func functionScope(code []byte) func(int) bool {
	inside := make([]bool, len(code)+1)
	var open []bool // whether each open brace is a namespace's
	depth := 0
	statement := 0
	for i, c := range code {
		inside[i] = depth > 0
		switch c {
		case ';':
			statement = i + 1
		case '{':
			outer := isNamespaceHead(code[statement:i])
			open = append(open, outer)
			if !outer {
				depth++
			}
			statement = i + 1
		case '}':
			if n := len(open); n > 0 {
				if !open[n-1] {
					depth--
				}
				open = open[:n-1]
			}
			statement = i + 1
		}
	}
	return func(at int) bool { return inside[at] }
}

func isNamespaceHead(head []byte) bool {
	words := bytes.Fields(head)
	if len(words) > 1 && string(words[0]) == "inline" {
		words = words[1:]
	}
	if len(words) == 0 {
		return false
	}
	linkage := string(words[0]) == "extern" && bytes.IndexByte(head, '"') >= 0 &&
		bytes.HasSuffix(bytes.TrimSpace(head), []byte{'"'})
	return linkage || string(words[0]) == "namespace"
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isWord(c byte) bool {
	return c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' &&
		c <= 'Z' || c >= 0x80
}

func isBlank(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v'
}

// wordStart reports whether a word begins at i; wordEnd returns the offset after the word that begins at i.
func wordStart(text []byte, i int) bool {
	return i < len(text) && isWord(text[i]) && (i == 0 || !isWord(text[i-1]))
}

func wordEnd(text []byte, i int) int {
	for i < len(text) && isWord(text[i]) {
		i++
	}
	return i
}

// skip returns the first offset from i that holds no blank; skipBack the last offset up to i with no blank
// before it.
func skip(text []byte, i int) int {
	for i < len(text) && isBlank(text[i]) {
		i++
	}
	return i
}

func skipBack(text []byte, i int) int {
	for i > 0 && (isBlank(text[i-1]) || text[i-1] == '\\' && i < len(text) && text[i] == '\n') {
		i-- // of a line that a backslash continues, that too
	}
	return i
}
