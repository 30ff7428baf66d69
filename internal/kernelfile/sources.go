package kernelfile

import (
	"fmt"
	"regexp"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/pyfacts"
)

// InlineSources returns the CUDA text that a Python file passes to torch.utils.cpp_extension.load_inline: its
// strings of C++ and CUDA, each on its own lines, and the functions that the call names, bound. Lines are
// those of the Python file. ok is false if it has none; the error is a *op.UsageError if a string is made
// while the file runs.
func InlineSources(facts *pyfacts.File) (code string, ok bool, err error) {
	var b strings.Builder
	b.WriteString("#include <torch/extension.h>")
	at := 1
	for _, s := range facts.Inline {
		if s.Made != "" {
			return "", false, &op.UsageError{Message: fmt.Sprintf("the CUDA source in line %d is made while "+
				"the file runs, by %s: write what it stands for into the string, or into a .cu", s.Line,
				s.Made)}
		}
		b.WriteString(strings.Repeat("\n", max(s.Line-at, 0)) + " " + s.Text)
		at = max(at, s.Line) + strings.Count(s.Text, "\n")
		ok = ok || strings.Contains(s.Text, "__global__")
	}
	b.WriteString("\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n")
	for _, name := range facts.Bound {
		if regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\s*\(`).MatchString(b.String()) {
			fmt.Fprintf(&b, "\tm.def(%q, &%s);\n", name, name)
		}
	}
	b.WriteString("}\n")
	return b.String(), ok, nil
}

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
