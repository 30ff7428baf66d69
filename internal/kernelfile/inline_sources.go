package kernelfile

import (
	"fmt"
	"regexp"
	"strings"

	"triad/internal/op"
)

var (
	inlineCall = regexp.MustCompile(`\bload_inline\s*\(`)
	inlineCode = regexp.MustCompile(`\b__(?:global|device)__|\b(?:torch|at)::Tensor\b|PYBIND11_MODULE|` +
		`(?m:^\s*#\s*(?:include|define)\b)`)
	functionsList = regexp.MustCompile(`\bfunctions\s*=\s*(\w+\b|[\[("'{])`)
	fieldOfString = regexp.MustCompile(`\{\{|\}\}|\{([^{}]*)\}`)
)

// InlineSources is the CUDA text that a Python file hands to torch.utils.cpp_extension.load_inline: its
// strings of C++ and CUDA, each on its own lines, and the functions that the call names, bound. Lines are
// those of the Python file. ok is false where it has none; the error is a *op.UsageError where a string is
// made while the file runs.
func InlineSources(text string) (code string, ok bool, err error) {
	if !inlineCall.MatchString(text) {
		return "", false, nil
	}
	literals := pythonLiterals(text)
	sources := make([]pythonLiteral, 0, len(literals))
	kernels := false
	for _, l := range literals {
		if !l.assigned || !inlineCode.MatchString(l.body) {
			continue
		}
		if l.body, err = l.filled(text); err != nil {
			return "", false, err
		}
		sources = append(sources, l)
		kernels = kernels || strings.Contains(l.body, "__global__")
	}
	if !kernels {
		return "", false, nil
	}
	var b strings.Builder
	b.WriteString("#include <torch/extension.h>")
	at := 1
	for _, l := range sources {
		for ; at < l.line; at++ {
			b.WriteByte('\n')
		}
		b.WriteString(" " + l.body)
		at += strings.Count(l.body, "\n")
	}
	b.WriteString("\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n")
	for _, name := range inlineFunctions(text, literals) {
		if regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\s*\(`).MatchString(b.String()) {
			fmt.Fprintf(&b, "\tm.def(%q, &%s);\n", name, name)
		}
	}
	b.WriteString("}\n")
	return b.String(), true, nil
}

// inlineFunctions are the names that functions= gives, as a list, one string or a name for either.
func inlineFunctions(text string, literals []pythonLiteral) (names []string) {
	for _, at := range functionsList.FindAllStringSubmatchIndex(text, -1) {
		from, word := at[2], regexp.QuoteMeta(text[at[2]:at[3]])
		if isWordByte(word[0]) {
			assigned := regexp.MustCompile(`(?m)^[ \t]*` + word + `\s*=\s*`).FindStringIndex(text)
			if assigned == nil {
				continue
			}
			from = assigned[1]
		}
		to := endOfExpression(text, from, literals)
		for _, l := range literals {
			before := strings.TrimRight(text[from:min(max(l.from, from), to)], " \t\r\n")
			value := strings.HasSuffix(before, ":") // of a dict: what Python says of the function
			if l.from >= from && l.to <= to && !value && isIdentifier(l.body) {
				names = append(names, l.body)
			}
		}
	}
	return names
}

func isIdentifier(text string) bool {
	return regexp.MustCompile(`^[A-Za-z_]\w*$`).MatchString(text)
}

// endOfExpression is the end of the list or string at from: its closing bracket, or the end of its line.
func endOfExpression(text string, from int, literals []pythonLiteral) int {
	depth := 0
	for i := from; i < len(text); i++ {
		for _, l := range literals {
			if l.from == i && l.to > i {
				i = l.to
			}
		}
		if i >= len(text) {
			break
		}
		switch text[i] {
		case '[', '(', '{':
			depth++
		case ']', ')', '}':
			if depth--; depth <= 0 {
				return i
			}
		case '\n', ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// pythonLiteral is a string of a Python file. assigned says that it is part of an expression, and no
// docstring.
type pythonLiteral struct {
	from, to  int // with its quotes
	line      int // of its first character
	body      string
	formatted bool // an f-string
	assigned  bool
}

// pythonLiterals lists the strings of a Python file. What it cannot read it takes for the end of the file.
func pythonLiterals(text string) (all []pythonLiteral) {
	last := byte('\n') // the last sign that is no blank
	line := 1
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '#':
			for i+1 < len(text) && text[i+1] != '\n' {
				i++
			}
			continue
		case c == '"' || c == '\'':
			l := pythonLiteralAt(text, i)
			l.line = line
			l.assigned = strings.IndexByte("=([,+", last) >= 0
			line += strings.Count(text[i:l.to], "\n")
			all = append(all, l)
			i = l.to - 1
			if l.assigned { // strings beside each other are one
				continue
			}
		case c == '\n':
			line++
		}
		if !strings.ContainsRune(" \t\r\n\\", rune(c)) && !stringPrefix(text, i) {
			last = c
		}
	}
	return all
}

// stringPrefix says whether the letter at i stands, alone or with others, before a string: r"...".
func stringPrefix(text string, i int) bool {
	if i > 0 && isWordByte(text[i-1]) && !stringPrefix(text, i-1) {
		return false
	}
	for n := 0; i < len(text) && n < 3; i, n = i+1, n+1 {
		if text[i] == '"' || text[i] == '\'' {
			return n > 0
		}
		if strings.IndexByte("rRfFbBuU", text[i]) < 0 {
			return false
		}
	}
	return false
}

// pythonLiteralAt is the string whose quotes open at i.
func pythonLiteralAt(text string, i int) pythonLiteral {
	start := i
	for start > 0 && i-start < 2 && stringPrefix(text, start-1) {
		start--
	}
	prefix := strings.ToLower(text[start:i])
	quote := text[i : i+1]
	if strings.HasPrefix(text[i:], strings.Repeat(quote, 3)) {
		quote = strings.Repeat(quote, 3)
	}
	l := pythonLiteral{from: i, formatted: strings.Contains(prefix, "f")}
	raw := strings.Contains(prefix, "r")
	var b strings.Builder
	for i += len(quote); i < len(text); i++ {
		switch {
		case strings.HasPrefix(text[i:], quote):
			l.to, l.body = i+len(quote), b.String()
			return l
		case text[i] == '\\' && i+1 < len(text):
			i++
			b.WriteString(unescaped(text[i], raw))
			continue
		case text[i] == '\n' && len(quote) == 1: // no string ends so
			l.to, l.body = i, b.String()
			return l
		}
		b.WriteByte(text[i])
	}
	l.to, l.body = len(text), b.String()
	return l
}

// unescaped is what a backslash and the sign after it mean in a string. The end of a line that it hides
// stays, for C++ hides it too and lines keep their numbers.
func unescaped(c byte, raw bool) string {
	if !raw {
		switch c {
		case 'n':
			return "\n"
		case 't':
			return "\t"
		case '\\', '"', '\'':
			return string(c)
		}
	}
	return `\` + string(c)
}

// filled is the text of a string with the fields of an f-string filled in, where they are numbers or words
// that the file assigns.
func (l pythonLiteral) filled(text string) (string, error) {
	rest := strings.TrimLeft(text[l.to:], " \t\r\n)")
	for _, made := range []string{".format(", ".replace(", "%"} {
		if strings.HasPrefix(rest, made) {
			return "", inlineMade(l.line, made)
		}
	}
	if !l.formatted {
		return l.body, nil
	}
	var unknown string
	body := fieldOfString.ReplaceAllStringFunc(l.body, func(field string) string {
		switch field {
		case "{{", "}}":
			return field[:1]
		}
		name := strings.TrimSpace(strings.Trim(field, "{}"))
		assigned := regexp.MustCompile(`(?m)^[ \t]*` + regexp.QuoteMeta(name) +
			`\s*(?::\s*\w+\s*)?=\s*(?:"(\w*)"|'(\w*)'|([-+.\w]+))[ \t\r]*(?:#.*)?$`)
		m := assigned.FindStringSubmatch(text)
		if m == nil || !isIdentifier(name) {
			unknown = field
			return field
		}
		return m[1] + m[2] + m[3]
	})
	if unknown != "" {
		return "", inlineMade(l.line, unknown)
	}
	return body, nil
}

func inlineMade(line int, what string) error {
	return &op.UsageError{Message: fmt.Sprintf("the CUDA source in line %d is made while the file runs, by "+
		"%s: write what it stands for into the string, or into a .cu", line, what)}
}
