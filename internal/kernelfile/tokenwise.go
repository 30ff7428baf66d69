package kernelfile

import (
	"fmt"
	"regexp"
	"slices"

	"triad/internal/ownfile/cfacts"
)

// mayStack reports whether a Python function may take one tensor for several that hold heads, [batch, seq, 3,
// heads, dim].
func (b *Binding) mayStack() bool {
	own := b.Spec.Own
	return b.Function.Kind == cfacts.Python && b.Function.Form != kernelForm && len(own.Packed) > 2 &&
		!slices.ContainsFunc(own.Packed, func(name string) bool { return !slices.Contains(own.Tokens, name) })
}

// stackTensor takes one tensor for several that hold heads, if the lines split it along its third size.
func (b *Binding) stackTensor() {
	parts := b.Spec.Own.Packed
	if !b.mayStack() || b.missingInputs() != len(parts)-1 || b.hasAdapter(Packed) {
		return
	}
	at := slices.IndexFunc(b.Args, func(a Argument) bool {
		return a.Role == Input && slices.Contains(parts, a.Target) || b.freeTensor(a)
	})
	if at < 0 || slices.Contains(parts, b.Args[at].Name) || !b.partsTokens(b.Args[at].Name, len(parts)) {
		return
	}
	b.pack(&b.Args[at], adapterOf{Adapter: Packed, parts: parts, lies: tokenwise})
}

// partsTokens reports whether lines split a tensor of five sizes along the third: "qkv.unbind(2)", "qkv[:, :,
// 0]".
func (b *Binding) partsTokens(tensor string, parts int) bool {
	name := regexp.QuoteMeta(tensor)
	parting := regexp.MustCompile(fmt.Sprintf(`\b%[1]s\.unbind\([ \t]*(?:dim[ \t]*=[ \t]*)?(?:2|-3)[ \t]*\)|`+
		`\b%[1]s\[[ \t]*:[ \t]*,[ \t]*:[ \t]*,[ \t]*%[2]d[ \t]*[\],]|`+
		`\b%[1]s\[[ \t]*\.\.\.[ \t]*,[ \t]*%[2]d[ \t]*,[ \t]*:[ \t]*,[ \t]*:[ \t]*\]|`+
		`\btorch\.unbind\([ \t]*%[1]s,[ \t]*(?:dim[ \t]*=[ \t]*)?(?:2|-3)[ \t]*\)`, name, parts-1))
	return parting.MatchString(b.Function.Code)
}
