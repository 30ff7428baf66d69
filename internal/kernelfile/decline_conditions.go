package kernelfile

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/ownfile/cfacts"
)

// declinesInPython matches the means by which a Python function may decline a call: an assert, an exception,
// or a Triton tile, whose side is a power of two.
var declinesInPython = regexp.MustCompile(`(?m)^[ \t]*(?:assert|raise)\b|` +
	`\btl\.arange\(|\btl\.static_assert\(`)

// MayDecline reports whether a function may decline a call for its sizes: its lines or those of a kernel of
// its file assert or check something, or it returns false.
func (b *Binding) MayDecline() bool {
	if b.Function.Kind == cfacts.Python {
		return declinesInPython.MatchString(b.Function.Code + b.Function.Kernels)
	}
	words := b.file.Words
	if b.extension && (strings.Contains(words, "throw") || strings.Contains(words, "torch_check")) {
		return true // a macro of the file or its includes may do so
	}
	if b.EndsForSizes() {
		return true
	}
	return b.Function.Refuses || b.asserts || slices.ContainsFunc(b.file.Tokens, func(t cfacts.Token) bool {
		return t.Text == "assert" || strings.HasPrefix(t.Text, "TORCH_CHECK")
	})
}

// AtDefaults returns the sizes without a parameter of a CUDA function that have a default; it is judged only
// with that.
func (b *Binding) AtDefaults() map[string]int64 {
	all := map[string]int64{}
	for _, d := range b.Spec.Dims {
		n, err := strconv.ParseInt(d.Default, 10, 64)
		if err == nil && b.Function.Kind != cfacts.Python && !b.givesSize(d.Name) {
			all[d.Name] = n
		}
	}
	return all
}
