package kernelfile

import "regexp"

// presetAxis matches a parameter that is preset to a number below 0, as an axis is counted from the last.
var presetAxis = regexp.MustCompile(`=\s*-\s*\d+\s*$`)

// onlyRead says whether the lines of a kernel read what a pointer points to, and write others, as many as
// there are outputs: it is none, whatever it is called.
func (b *Binding) onlyRead(p Param) bool {
	written := 0
	for _, other := range b.Function.Params {
		if other.Pointer && other.writing.any() {
			written++
		}
	}
	return b.Function.Kind == Kernel && !p.writing.any() && written >= len(b.outputs)
}
