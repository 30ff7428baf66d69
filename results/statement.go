package results

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// longestStatement is the maximum number of bytes of a statement.
const longestStatement = 1_000_000

// oneStatement refuses text that is not one statement: of several the driver would run the first and drop its
// result silently.
func oneStatement(text string) error {
	switch {
	case len(text) > longestStatement:
		return fmt.Errorf("the statement has %d bytes, want at most %d", len(text), longestStatement)
	case !utf8.ValidString(text):
		return errors.New("the statement is not valid UTF-8")
	case strings.ContainsRune(text, 0):
		return errors.New("the statement contains a NUL character")
	}
	ended, any := false, false
	for i := 0; i < len(text); {
		n, token := nextToken(text[i:])
		switch {
		case token == ';':
			ended = any
		case token != ' ' && ended:
			return errors.New("more than one statement: give one at a time")
		case token != ' ':
			any = true
		}
		i += n
	}
	if !any {
		return errors.New(`the statement is empty: want one such as "SELECT * FROM latest"`)
	}
	return nil
}

// nextToken returns the length and kind of the token that text begins with: ' ' for space and comments, ';',
// or 'x' for anything else. A quoted text is one token, whatever it holds; one that does not end reaches to
// the end.
func nextToken(text string) (length int, kind byte) {
	upTo := func(end string, from int) int {
		if i := strings.Index(text[from:], end); i >= 0 {
			return from + i + len(end)
		}
		return len(text)
	}
	switch c := text[0]; {
	case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
		return 1, ' '
	case strings.HasPrefix(text, "--"):
		return upTo("\n", 2), ' '
	case strings.HasPrefix(text, "/*"):
		return upTo("*/", 2), ' '
	case c == ';':
		return 1, ';'
	case c == '\'' || c == '"' || c == '`':
		return upTo(string(c), 1), 'x'
	case c == '[':
		return upTo("]", 1), 'x'
	}
	return 1, 'x'
}

// parameterName matches a parameter at the beginning of a text.
var parameterName = regexp.MustCompile(`^:([A-Za-z_][A-Za-z_0-9]*)`)

// parameters lists the parameters of a statement, each once: :name outside of quotes and comments.
func parameters(text string) []string {
	var all []string
	for i := 0; i < len(text); {
		n, _ := nextToken(text[i:])
		if m := parameterName.FindStringSubmatch(text[i:]); m != nil {
			n = len(m[0])
			if !slices.Contains(all, m[1]) {
				all = append(all, m[1])
			}
		}
		i += n
	}
	return all
}

// otherKinds matches parameters that are not named with a colon.
var otherKinds = regexp.MustCompile(`^(?:\?\d*|[@$][A-Za-z_]\w*)`)

// otherParameter returns the first parameter of a statement that is no :name; "" if there is none.
func otherParameter(text string) string {
	inWord := false
	for i := 0; i < len(text); {
		if found := otherKinds.FindString(text[i:]); found != "" && !inWord {
			return found
		}
		n, _ := nextToken(text[i:])
		c := text[i]
		inWord = c == '_' || c == '$' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		i += n
	}
	return ""
}

// bound checks that every parameter of a statement has a value, and every value a parameter.
func bound(statement string, params map[string]any) error {
	if other := otherParameter(statement); other != "" {
		return fmt.Errorf("%s is a parameter that cannot be given a value: write :name, and --param "+
			"name=VALUE", other)
	}
	wanted := parameters(statement)
	for _, name := range wanted {
		if _, given := params[name]; !given {
			return fmt.Errorf("parameter :%s has no value: give one with --param %s=VALUE", name, name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if slices.Contains(wanted, name) {
			continue
		}
		if len(wanted) == 0 {
			return fmt.Errorf("the statement has no parameter :%s, and no other", name)
		}
		return fmt.Errorf("the statement has no parameter :%s: it has :%s", name, strings.Join(wanted, ", :"))
	}
	return nil
}
