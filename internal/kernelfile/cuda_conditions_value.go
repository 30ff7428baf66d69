package kernelfile

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var conditionWord = regexp.MustCompile(`\w+|&&|\|\||[=!<>]=|[-+*/%!<>()]`)

// asked is the condition of an #if, evaluated as far as the file's own lines and the flags decide it.
type asked struct {
	s     *source
	words []string
	at    int
}

// holds reports whether the condition of an #if holds; known is false where only the compiler knows: it has a
// name that neither the file nor a flag defines, a macro with parameters, or more arithmetic than
// comparisons.
func (s *source) holds(text string) (on, known bool) {
	text, _, _ = strings.Cut(text, "//")
	text = cComment.ReplaceAllString(text, " ")
	c := &asked{s: s, words: conditionWord.FindAllString(text, -1)}
	if strings.Join(c.words, "") != strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", " ")), "") {
		return false, false
	}
	value, known := c.either()
	return value != 0, known && c.at == len(c.words)
}

func (c *asked) take(words ...string) (string, bool) {
	if c.at < len(c.words) && slices.Contains(words, c.words[c.at]) {
		c.at++
		return c.words[c.at-1], true
	}
	return "", false
}

func truth(on bool) int64 {
	if on {
		return 1
	}
	return 0
}

// either reads a || b: where one side holds, the other need not be known.
func (c *asked) either() (int64, bool) {
	value, known := c.both()
	for {
		if _, more := c.take("||"); !more {
			return value, known
		}
		next, nextKnown := c.both()
		holds := known && value != 0 || nextKnown && next != 0
		value, known = truth(holds), holds || known && nextKnown
	}
}

// both reads a && b: where one side does not hold, the other need not be known.
func (c *asked) both() (int64, bool) {
	value, known := c.compared()
	for {
		if _, more := c.take("&&"); !more {
			return value, known
		}
		next, nextKnown := c.compared()
		fails := known && value == 0 || nextKnown && next == 0
		value, known = truth(!fails), fails || known && nextKnown
	}
}

func (c *asked) compared() (int64, bool) {
	value, known := c.single()
	sign, more := c.take("==", "!=", "<=", ">=", "<", ">")
	if !more {
		return value, known
	}
	other, otherKnown := c.single()
	holds := map[string]bool{
		"==": value == other, "!=": value != other, "<=": value <= other, ">=": value >= other,
		"<": value < other, ">": value > other,
	}[sign]
	return truth(holds), known && otherKnown
}

func (c *asked) single() (int64, bool) {
	if _, not := c.take("!"); not {
		value, known := c.single()
		return truth(value == 0), known
	}
	if _, open := c.take("("); open {
		value, known := c.either()
		_, closed := c.take(")")
		return value, known && closed
	}
	if c.at >= len(c.words) {
		return 0, false
	}
	word := c.words[c.at]
	c.at++
	if word == "defined" {
		_, open := c.take("(")
		if c.at >= len(c.words) {
			return 0, false
		}
		name := c.words[c.at]
		c.at++
		if open {
			c.take(")")
		}
		return truth(c.s.names[name]), c.s.names[name] || !ofTheCompiler(name)
	}
	return c.s.number(word)
}

// number returns the value of a word: a number, or the value that #define or a flag gives a name.
func (s *source) number(word string) (int64, bool) {
	for range 8 {
		if n, err := strconv.ParseInt(strings.TrimRight(word, "uUlL"), 0, 64); err == nil {
			return n, true
		}
		next, ok := s.defines[word]
		if !ok {
			break
		}
		word = strings.Trim(next, "() \t")
	}
	return 0, false
}

// ofTheCompiler reports whether a name is one that compilers and their headers define.
func ofTheCompiler(name string) bool {
	return strings.HasPrefix(name, "_") || strings.HasPrefix(name, "CUDA")
}
