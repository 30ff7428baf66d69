package kernelfile

import (
	"regexp"
	"slices"
	"strings"
)

// macro is a #define with parameters.
type macro struct {
	params []string
	body   string
}

var (
	macroHead = regexp.MustCompile(`^\s*#\s*define\s+(\w+)\(([^()]*)\)`)
	// makesFunction matches a body that begins as a function does, and has another name for each argument.
	makesFunction = regexp.MustCompile(`^\s*[A-Za-z_][\w:<>,*&\s]*[\s*&][\w#]*\s*\([^{};]*\)\s*\{`)
	bindsFunction = regexp.MustCompile(`\.(?:def|impl)\(`)
	macroCall     = regexp.MustCompile(`^[ \t]*(\w+)\(`)
	pasted        = regexp.MustCompile(`\s*##\s*`)
	wordOfMacro   = regexp.MustCompile(`#?\b[A-Za-z_]\w*`)
)

// withoutMacros expands macros that define or bind a function, each on its own line: "BIND_RELU(f32, float)"
// that makes relu_f32 of relu_##name. All else is left as it is, and lines keep their numbers.
func withoutMacros(text string) string {
	if !strings.Contains(text, "##") && !bindsFunction.MatchString(text) {
		return text
	}
	macros := macrosOf(text)
	if len(macros) == 0 {
		return text
	}
	lines := strings.Split(text, "\n")
	directive := false
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		within := directive
		directive = strings.HasSuffix(strings.TrimRight(line, "\r"), "\\") &&
			(within || strings.HasPrefix(strings.TrimSpace(line), "#"))
		m := macroCall.FindStringSubmatch(line)
		if within || m == nil {
			continue
		}
		made, known := macros[m[1]]
		if !known {
			continue
		}
		last, arguments := argumentsOf(lines, i, strings.Index(line, "(")+1)
		if len(arguments) != len(made.params) {
			continue
		}
		lines[i] = made.of(arguments)
		for k := i + 1; k <= last; k++ {
			lines[k] = ""
		}
		i = last
	}
	return strings.Join(lines, "\n")
}

// macrosOf returns the macros of a text that define or bind a function, by name.
func macrosOf(text string) map[string]macro {
	macros := map[string]macro{}
	lines := strings.Split(strings.ReplaceAll(text, "\r", ""), "\n")
	for i := 0; i < len(lines); i++ {
		if !strings.HasPrefix(strings.TrimSpace(lines[i]), "#") {
			continue
		}
		var whole strings.Builder
		for ; strings.HasSuffix(lines[i], "\\") && i+1 < len(lines); i++ {
			whole.WriteString(strings.TrimSuffix(lines[i], "\\") + " ")
		}
		whole.WriteString(lines[i])
		m := macroHead.FindStringSubmatch(whole.String())
		if m == nil {
			continue
		}
		made := macro{body: strings.TrimPrefix(whole.String(), m[0])}
		for _, p := range strings.Split(m[2], ",") {
			made.params = append(made.params, strings.TrimSpace(p))
		}
		if makesFunction.MatchString(made.body) && strings.Contains(made.body, "##") ||
			bindsFunction.MatchString(made.body) {
			macros[m[1]] = made
		}
	}
	return macros
}

// of returns the body of a macro with its arguments substituted.
func (m macro) of(arguments []string) string {
	const paste = "\x01" // a # before a parameter would make a literal of it
	body := pasted.ReplaceAllString(m.body, paste)
	body = wordOfMacro.ReplaceAllStringFunc(body, func(word string) string {
		name, quoted := strings.CutPrefix(word, "#")
		i := slices.Index(m.params, name)
		switch {
		case i < 0:
			return word
		case quoted:
			return `"` + arguments[i] + `"`
		}
		return arguments[i]
	})
	return strings.ReplaceAll(body, paste, "")
}

// argumentsOf reads the arguments of a macro that open at a place of a line; last is the line in which they
// end. It returns none if they do not end.
func argumentsOf(lines []string, at, from int) (last int, arguments []string) {
	depth, word := 1, ""
	for last = at; last < min(at+20, len(lines)); last++ {
		for _, c := range lines[last][from:] {
			switch c {
			case '(', '[', '{':
				depth++
			case ')', ']', '}':
				depth--
			}
			if depth == 0 {
				return last, append(arguments, strings.TrimSpace(word))
			}
			if c == ',' && depth == 1 {
				arguments, word = append(arguments, strings.TrimSpace(word)), ""
				continue
			}
			word += string(c)
		}
		from = 0
	}
	return at, nil
}
