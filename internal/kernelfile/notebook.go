package kernelfile

import "strings"

// WithoutNotebook returns the text of a .cu with its leading notebook commands, such as "%%writefile
// kernel.cu" and "!nvcc", replaced by blank lines, and the number of these: they tell a notebook what to do
// with the cell, and no compiler accepts them.
func WithoutNotebook(text string) (plain string, lines int) {
	var b strings.Builder
	rest := text
	for rest != "" {
		line, after, _ := strings.Cut(rest, "\n")
		word := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(word, "%%") || strings.HasPrefix(word, "!"):
			lines++
		case word != "" && !strings.HasPrefix(word, "//"):
			return b.String() + rest, lines
		default:
			b.WriteString(line)
		}
		b.WriteByte('\n')
		rest = after
	}
	return text, 0
}
