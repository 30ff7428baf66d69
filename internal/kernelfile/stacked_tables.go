package kernelfile

import (
	"regexp"
	"slices"
)

// unsqueezes matches the insertion of a size of 1 into a table: cos = cos.unsqueeze(1). The position may be a
// parameter.
var unsqueezes = regexp.MustCompile(`\b(\w+)\.unsqueeze\(\s*(?:dim\s*=\s*)?(\w+)\s*\)`)

// stacked reports whether a Python function wants a table with an additional leading size, that of the batch.
// Such a function inserts a size of 1 at the position of the heads in the tensor that it multiplies: the
// second of [batch, heads, seq, head_dim], the third of [batch, seq, heads, head_dim].
func (b *Binding) stacked(a Argument) bool {
	if a.Role != Input || b.Function.Kind != Python || b.Function.form == kernelForm ||
		!slices.Contains(b.Spec.Own.Wide, a.Target) || len(b.shape(b.inputs[0])) != 4 {
		return false
	}
	heads := "2"
	if slices.ContainsFunc(b.Args, func(o Argument) bool { return o.Role == Input && o.Form == ByToken }) {
		heads = "1"
	}
	return slices.ContainsFunc(unsqueezes.FindAllStringSubmatch(b.Function.text, -1), func(m []string) bool {
		return m[1] == a.Name && b.presetOf(m[2]) == heads
	})
}

func (b *Binding) stackedSentences() []string {
	return eachOf(b.argumentsThat(b.stacked), func(name string) string {
		return name + " has one size more, the batch: it is 1"
	})
}

// presetOf returns a number, or the default of a parameter.
func (b *Binding) presetOf(word string) string {
	if p := b.Function.saidOf(word); p.Name != "" {
		return p.Default
	}
	return word
}
