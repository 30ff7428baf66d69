package kernelfile

import (
	"slices"

	"triad/internal/ownfile/cfacts"
)

// ofOneBlock returns the number of elements of a lone kernel that has no size and uses one block alone: as
// many as its file allocates where it launches it, else one for each of its threads, or two where the lines
// say so, "i = 2 * threadIdx.x" or "x[t] + x[t + blockDim.x]". It is a guess, and the kernel is judged with
// that many; of two sizes the first is 1.
func (b *Binding) ofOneBlock(file *cfacts.File, dim string) (n int64, is bool) {
	k := body{b: b, file: file, tokens: b.Function.Body}
	flat := false // its elements are counted together
	if len(b.Spec.Dims) == 2 {
		_, flat = b.Spec.Synonyms[b.Spec.Dims[0].Name+" * "+b.Spec.Dims[1].Name]
	}
	if b.Function.Kind != cfacts.Kernel || b.givesAnySize() || len(b.Spec.Dims) != 1 && !flat {
		return 0, false
	}
	for _, axis := range axes {
		if k.uses(k.tokens, "blockIdx", axis) {
			return 0, false
		}
	}
	threads, known := k.number(product(b.Launch.Block))
	if !known {
		var all int64
		all, known = numberOf(product(b.Launch.Block))
		threads = int(all)
	}
	if !known || threads < 2 || !k.uses(k.tokens, "threadIdx", "x") {
		return 0, false
	}
	b.Launch.guessed = true
	if dim != b.Spec.Dims[len(b.Spec.Dims)-1].Name {
		return 1, true
	}
	if found := k.ownLaunch(); found != nil && k.elementsThere(found) > 1 {
		return k.elementsThere(found), true
	}
	if k.takesTwo(threads) {
		threads *= 2
	}
	return int64(threads), true
}

// takesTwo reports whether a thread of a block of this many threads begins with two elements.
func (k body) takesTwo(threads int) bool {
	tokens := k.expandAliases()
	for i, t := range tokens {
		switch {
		case t.Text == "threadIdx" && (cfacts.TextsAt(tokens, i-2, "2", "*") ||
			cfacts.TextsAt(tokens, i+3, "*", "2")),
			cfacts.TextsAt(tokens, i, "+", "blockDim", cfacts.AnyText, cfacts.AnyText, "]"),
			cfacts.TextsAt(tokens, i, "=", "blockDim", cfacts.AnyText, cfacts.AnyText,
				";"): // the first stride
			return true
		case cfacts.TextsAt(tokens, i, "+", cfacts.AnyText, "]"):
			if n, known := k.number(tokens[i+1].Text); known && n == threads {
				return true
			}
		}
	}
	return false
}

// sizesOfOneBlock returns sizes for which one block has a thread for each element, for a kernel that is
// launched so for all of them: the operator's own quick sizes are larger than a block, or nothing.
func (b *Binding) sizesOfOneBlock() []map[string]int64 {
	if b.Function.Kind != cfacts.Kernel || b.Launch == nil || len(b.Options.Dims)+len(b.Options.Bound) > 0 ||
		b.Launch.Grid != [3]string{"1", "1", "1"} {
		return nil
	}
	names := cfacts.Lex(product(b.Launch.Block)).Tokens
	for _, dim := range b.neededDims() {
		if !slices.ContainsFunc(names, func(t cfacts.Token) bool { return t.Text == dim }) {
			return nil
		}
	}
	switch needed := b.neededDims(); len(needed) {
	case 1:
		return []map[string]int64{{needed[0]: 1000}}
	case 2:
		return []map[string]int64{{needed[0]: 7, needed[1]: 143}}
	}
	return nil
}
