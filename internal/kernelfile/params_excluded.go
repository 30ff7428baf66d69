package kernelfile

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile/cfacts"
)

// presetAxis matches a parameter whose default is a negative number, as an axis counted from the last.
var presetAxis = regexp.MustCompile(`=\s*-\s*\d+\s*$`)

// presetMask matches a Python parameter for a mask, which is a tensor: its default is None.
var presetMask = regexp.MustCompile(`(?i)^\w*mask\w*\s*(?::[^=]*)?=\s*None$`)

// onlyRead reports whether a kernel reads what a pointer points to and writes at least as many others as
// there are outputs: then the pointer is no output, whatever its name. A pointer that is passed on, or whose
// address is taken, may be written there.
func (b *Binding) onlyRead(p cfacts.Param) bool {
	written := 0
	for _, other := range b.Function.Params {
		if other.Pointer && other.Writing.Any() {
			written++
		}
	}
	return b.Function.Kind == cfacts.Kernel && readsAlone(b.Function.Body, p.Name) &&
		written >= len(b.outputs)
}

// readsAlone reports whether a body only reads elements of a pointer wherever it names it.
func readsAlone(body []cfacts.Token, name string) bool {
	for i := range body {
		if body[i].Text != name {
			continue
		}
		end := i + 1
		for end < len(body) && body[end].Text == "[" {
			end = cfacts.Closing(body, end) + 1
		}
		if end == i+1 || i > 0 && body[i-1].Text == "&" {
			return false
		}
		for end < len(body) && body[end].Text == ")" { // FLOAT4(y[i]) = v
			end++
		}
		assigns := func(at int) bool {
			return at < len(body) && strings.HasSuffix(body[at].Text, "=") &&
				!slices.Contains([]string{"==", "!=", "<=", ">="}, body[at].Text)
		}
		if assigns(end) || end < len(body) && strings.Contains("+-*/%&|^", body[end].Text) && assigns(end+1) {
			return false
		}
	}
	return true
}
