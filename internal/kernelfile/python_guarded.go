package kernelfile

import (
	"regexp"
	"strings"
)

// guards matches the head of a block that defines kernels where Triton or a GPU is there.
var guards = regexp.MustCompile(`^(?:try|if\b[^\n]*(?i:triton|cuda|gpu)[^\n]*):[ \t]*(?:#[^\n]*)?\n?$`)

// withoutGuards is the text of a Python file with what such blocks define at its left, line for line.
func withoutGuards(text string) string {
	var out strings.Builder
	guarded, begun, deep := false, false, ""
	for line := range strings.Lines(text) {
		blank := strings.TrimSpace(line) == ""
		indented := indent.FindString(line)
		switch {
		case blank:
		case indented == "":
			guarded, begun = guards.MatchString(line), false
		case guarded && !begun:
			begun, deep = true, indented
		}
		if guarded && begun && !blank {
			line = strings.TrimPrefix(line, deep)
		}
		out.WriteString(line)
	}
	return out.String()
}
