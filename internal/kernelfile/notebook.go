package kernelfile

import "strings"

// WithoutNotebook is the text of a .cu with blank lines for those at its head that a notebook
// understands, such as "%%writefile kernel.cu" and "!nvcc": they say what is to be done with the cell,
// and no compiler takes them. It says how many there are.
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
