package firstlook

import (
	"regexp"
	"slices"
	"strings"
)

// WrittenAt returns the line that writes a result, where nothing else says which line is wrong: in CUDA the
// first one that stores to one of the outputs, by its own name or by another; in Python the last tl.store,
// else the return of forward, and of a gradient that of backward. With the name of a function of a Python
// file, only what that function uses counts, and its last return where it uses no kernel. It is 0 if there is
// none.
func WrittenAt(text string, python, gradient bool, function string, outputs []string) int {
	lines := strings.Split(text, "\n")
	if !python {
		if line := storedAt(lines, outputs); line > 0 {
			return line
		}
		return storedAt(lines, pointersTo(text, outputs))
	}
	uses, own := usedBy(lines, function)
	last, returned, method := 0, 0, ""
	for i, line := range lines {
		if defines := definition.FindStringSubmatch(line); defines != nil {
			method = defines[1]
		}
		switch {
		case !uses(i):
		case gradient && method == "backward" && returns.MatchString(line):
			last = i + 1
		case !gradient && stores.MatchString(line):
			last = i + 1
		case gradient || method == "backward" || !returns.MatchString(line):
		case own(i) || method == "forward":
			returned = i + 1
		}
	}
	if last == 0 {
		return returned
	}
	return last
}

// UsedBy returns a Python text without the lines that a function of it does not use; they are empty. Without
// such a function it returns the whole text.
func UsedBy(text, function string) string {
	lines := strings.Split(text, "\n")
	uses, _ := usedBy(lines, function)
	for i := range lines {
		if !uses(i) {
			lines[i] = ""
		}
	}
	return strings.Join(lines, "\n")
}

// usedBy returns which lines of a Python file a function of its top level uses, by its name or through others
// that it names, and which are its own. Without such a function the first is every line, the second none.
func usedBy(lines []string, function string) (uses, own func(line int) bool) {
	blocks := map[string][]int{} // lines by the name that they define
	name := ""
	for i, line := range lines {
		if defines := topLevel.FindStringSubmatch(line); defines != nil {
			name = defines[1] + defines[2]
		} else if line != "" && !strings.ContainsAny(line[:1], " \t#)]}@") {
			name = ""
		}
		if name != "" {
			blocks[name] = append(blocks[name], i)
		}
	}
	function, _, _ = strings.Cut(function, ".") // a method's class
	if blocks[function] == nil {
		return func(int) bool { return true }, func(int) bool { return false }
	}
	used := map[int]bool{}
	for queue := []string{function}; len(queue) > 0; queue = queue[1:] {
		for _, i := range blocks[queue[0]] {
			if !used[i] {
				used[i] = true
				queue = append(queue, anyName.FindAllString(lines[i], -1)...)
			}
		}
	}
	own = func(i int) bool { return slices.Contains(blocks[function], i) }
	return func(i int) bool { return used[i] }, own
}

var (
	definition = regexp.MustCompile(`^\s*def\s+(\w+)`)
	topLevel   = regexp.MustCompile(`^(?:async\s+)?(?:def|class)\s+(\w+)|^(\w+)\s*(?::[^=]+)?=[^=]`)
	anyName    = regexp.MustCompile(`[A-Za-z_]\w*`)
	returns    = regexp.MustCompile(`^\s+return\b`)
	stores     = regexp.MustCompile(`\btl\.store\s*\(`)
	stored     = regexp.MustCompile(`(?:\b(\w+)\s*\[[^=;]*\]|(?:^|[;{})])\s*\*\s*(\w+))\s*[-+*/]?=[^=]|` +
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
