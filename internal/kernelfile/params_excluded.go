package kernelfile

import (
	"regexp"
	"slices"
	"strings"
)

// presetAxis matches a parameter whose default is a negative number, as an axis counted from the last.
var presetAxis = regexp.MustCompile(`=\s*-\s*\d+\s*$`)

// presetMask matches a Python parameter for a mask, which is a tensor: its default is None.
var presetMask = regexp.MustCompile(`(?i)^\w*mask\w*\s*(?::[^=]*)?=\s*None$`)

// onlyRead reports whether a kernel reads what a pointer points to and writes at least as many others as
// there are outputs: then the pointer is no output, whatever its name. A pointer that is passed on, or whose
// address is taken, may be written there.
func (b *Binding) onlyRead(p Param) bool {
	written := 0
	for _, other := range b.Function.Params {
		if other.Pointer && other.writing.any() {
			written++
		}
	}
	return b.Function.Kind == Kernel && readsAlone(b.Function.body, p.Name) && written >= len(b.outputs)
}

// readsAlone reports whether a body only reads elements of a pointer wherever it names it.
func readsAlone(body []token, name string) bool {
	for i := range body {
		if body[i].text != name {
			continue
		}
		end := i + 1
		for end < len(body) && body[end].text == "[" {
			end = closing(body, end) + 1
		}
		if end == i+1 || i > 0 && body[i-1].text == "&" {
			return false
		}
		for end < len(body) && body[end].text == ")" { // FLOAT4(y[i]) = v
			end++
		}
		assigns := func(at int) bool {
			return at < len(body) && strings.HasSuffix(body[at].text, "=") &&
				!slices.Contains([]string{"==", "!=", "<=", ">="}, body[at].text)
		}
		if assigns(end) || end < len(body) && strings.Contains("+-*/%&|^", body[end].text) && assigns(end+1) {
			return false
		}
	}
	return true
}
