package cfacts

import (
	"slices"
	"strings"
	"unicode"
)

// Token is one word or sign of C++ text. Comments, literals' contents and preprocessor lines are no tokens.
type Token struct {
	Text string
	Line int // from 1
}

// Words returns the names and numbers of a text, in order.
func Words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r > unicode.MaxASCII || !isWordByte(byte(r)) })
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// IsName reports whether a token is a word: a name or a keyword.
func (t Token) IsName() bool {
	return t.Text != "" && isWordByte(t.Text[0]) && (t.Text[0] < '0' || t.Text[0] > '9')
}

func (t Token) beginsWithDigit() bool { return t.Text != "" && t.Text[0] >= '0' && t.Text[0] <= '9' }

// TextAt returns the text of the token at an index, "" outside.
func TextAt(tokens []Token, i int) string {
	if i < 0 || i >= len(tokens) {
		return ""
	}
	return tokens[i].Text
}

// AnyText stands for the text of any token.
const AnyText = " "

// TextsAt reports whether tokens have these texts from an index on.
func TextsAt(tokens []Token, i int, texts ...string) bool {
	if i < 0 || i+len(texts) > len(tokens) {
		return false
	}
	for k, text := range texts {
		if text != AnyText && tokens[i+k].Text != text {
			return false
		}
	}
	return true
}

// HasTexts reports whether tokens with these texts follow each other somewhere.
func HasTexts(tokens []Token, texts ...string) bool {
	for i := range tokens {
		if TextsAt(tokens, i, texts...) {
			return true
		}
	}
	return false
}

// source is a C++ text cut into tokens, with the words that #define gives a plain value.
type source struct {
	Tokens   []Token
	Defines  map[string]string
	names    map[string]bool // that #define or a flag defines
	branches []branch        // the conditions that the text being read stands under
	Comments []string        // line by line

	launching bool // a <<< was read, and not yet its >>>
}

// Lex cuts C++ text into tokens, except text left out by #if 0 and #ifdef; defined are names that a flag
// defines, as NAME or NAME=VALUE. It never fails: the compiler reports invalid C++.
func Lex(text string, defined ...string) source {
	s := source{Defines: map[string]string{}, names: map[string]bool{}}
	for _, flag := range defined {
		name, value, given := strings.Cut(flag, "=")
		if !given {
			value = "1"
		}
		s.names[name], s.Defines[name] = true, value
	}
	line, fresh := 1, true // fresh: nothing but blanks so far on this line
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c == '\n':
			line++
			fresh = true
			i++
			continue
		case c == ' ' || c == '\t' || c == '\r' || c == '\\':
			i++
			continue
		case strings.HasPrefix(text[i:], "//"):
			end := endOfLine(text, i)
			s.Comments = append(s.Comments, text[i:end])
			i = end
			continue
		case strings.HasPrefix(text[i:], "/*"):
			end := strings.Index(text[i+2:], "*/")
			if end < 0 {
				return s
			}
			s.Comments = append(s.Comments, strings.Split(text[i:i+2+end], "\n")...)
			line += strings.Count(text[i:i+2+end], "\n")
			i += end + 4
			continue
		case c == '#' && fresh:
			end := endOfLine(text, i)
			s.directive(text[i:end])
			if !s.off() {
				s.define(text[i:end])
			}
			line += strings.Count(text[i:end], "\n")
			i = end
			continue
		}
		if s.off() {
			end := endOfLine(text, i)
			line += strings.Count(text[i:end], "\n")
			i = end
			continue
		}
		fresh = false
		word, end := s.next(text, i)
		s.Tokens = append(s.Tokens, Token{word, line})
		line += strings.Count(text[i:end], "\n")
		i = end
	}
	return s
}

// launchSign returns <<< or, in a launch, >>>, and its end; "" if none is at i. Some editors write it as "<<
// <" and ">> >", which nvcc takes as well.
func (s *source) launchSign(text string, i int) (sign string, end int) {
	for _, sign := range []string{"<<<", ">>>"} {
		rest, two := strings.CutPrefix(text[i:], sign[:2])
		if !two || sign == ">>>" && !s.launching {
			continue
		}
		after, three := strings.CutPrefix(strings.TrimLeft(rest, " \t"), sign[:1])
		if three && (sign == "<<<" || strings.HasPrefix(strings.TrimLeft(after, " \t\r\n"), "(")) {
			s.launching = sign == "<<<"
			return sign, len(text) - len(after)
		}
	}
	return "", i
}

// next returns the token at i and its end.
func (s *source) next(text string, i int) (word string, end int) {
	if word, end = s.launchSign(text, i); word == "" {
		end = endOfToken(text, i)
		word = text[i:end]
	}
	return word, end
}

// endOfToken returns the end of the token at i: a word, a number, a literal, a sign of 1 to 3 characters.
func endOfToken(text string, i int) int {
	c := text[i]
	end := i + 1
	switch {
	case isWordByte(c):
		number, hex := c >= '0' && c <= '9', i+1 < len(text) && text[i+1]|0x20 == 'x'
		for end < len(text) && (isWordByte(text[end]) || number && (text[end] == '.' || !hex &&
			strings.IndexByte("+-", text[end]) >= 0 && strings.IndexByte("eE", text[end-1]) >= 0)) {
			end++ // 1e-5f is one number
		}
	case c == '"' || c == '\'':
		end = EndOfLiteral(text, i)
	case strings.HasPrefix(text[i:], "<<<"), strings.HasPrefix(text[i:], ">>>"):
		end = i + 3
	case strings.HasPrefix(text[i:], "::"), strings.HasPrefix(text[i:], "->"),
		strings.HasPrefix(text[i:], ">="), strings.HasPrefix(text[i:], "<="),
		strings.HasPrefix(text[i:], "=="), strings.HasPrefix(text[i:], "!="),
		strings.HasPrefix(text[i:], "||"), strings.HasPrefix(text[i:], "&&"),
		strings.HasPrefix(text[i:], "+="):
		end = i + 2
	}
	return end
}

// endOfLine returns the end of a line, including lines joined to it by a backslash.
func endOfLine(text string, at int) int {
	for at < len(text) && text[at] != '\n' {
		if text[at] == '\\' && at+1 < len(text) {
			at++
			if text[at] == '\r' && at+1 < len(text) {
				at++
			}
		}
		at++
	}
	return min(at, len(text))
}

// EndOfLiteral returns the end of the string or character literal that begins at an index.
func EndOfLiteral(text string, at int) int {
	quote := text[at]
	for at++; at < len(text) && text[at] != quote && text[at] != '\n'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return min(at+1, len(text))
}

// define keeps "#define NAME VALUE".
func (s *source) define(directive string) {
	words := strings.Fields(strings.ReplaceAll(strings.TrimPrefix(directive, "#"), "\\\n", " "))
	if len(words) < 3 || words[0] != "define" || strings.Contains(words[1], "(") {
		return
	}
	value, _, _ := strings.Cut(strings.Join(words[2:], " "), "//")
	value, _, _ = strings.Cut(value, "/*")
	s.Defines[words[1]] = strings.TrimSpace(value)
}

// resultFirst writes "auto f() -> int" as "int f()".
func resultFirst(head []Token) []Token {
	arrow := slices.IndexFunc(head, func(t Token) bool { return t.Text == "->" })
	auto := slices.IndexFunc(head, func(t Token) bool { return t.Text == "auto" })
	if arrow < 1 || auto < 0 || auto > arrow {
		return head
	}
	return slices.Concat(head[:auto], head[arrow+1:], head[auto+1:arrow])
}
