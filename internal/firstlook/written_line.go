package firstlook

import (
	"regexp"
	"slices"
	"strings"
)

// WrittenAt returns the line that writes a result, where nothing else says which line is wrong: in CUDA the
// first one that stores to one of the outputs, in Python the last tl.store, and of a gradient the return of
// backward. It is 0 if there is none.
func WrittenAt(text string, python, gradient bool, outputs []string) int {
	lines := strings.Split(text, "\n")
	if !python {
		return storedAt(lines, outputs)
	}
	last, inBackward := 0, false
	for i, line := range lines {
		if defines := definition.FindStringSubmatch(line); defines != nil {
			inBackward = defines[1] == "backward"
		}
		switch {
		case gradient && inBackward && returns.MatchString(line):
			last = i + 1
		case !gradient && stores.MatchString(line):
			last = i + 1
		}
	}
	return last
}

var (
	definition = regexp.MustCompile(`^\s*def\s+(\w+)`)
	returns    = regexp.MustCompile(`^\s+return\b`)
	stores     = regexp.MustCompile(`\btl\.store\s*\(`)
	stored     = regexp.MustCompile(`(?:\b(\w+)\s*\[[^=;]*\]|\*\s*(\w+))\s*[-+*/]?=[^=]|` +
		`\batomic[A-Z]\w+\s*\(\s*&?\s*(\w+)`)
)

func storedAt(lines, outputs []string) int {
	for i, line := range lines {
		code, _, _ := strings.Cut(line, "//")
		if m := stored.FindStringSubmatch(code); m != nil && slices.Contains(outputs, m[1]+m[2]+m[3]) {
			return i + 1
		}
	}
	return 0
}
