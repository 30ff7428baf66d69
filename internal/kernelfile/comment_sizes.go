package kernelfile

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile/cfacts"
)

// sizesOfTensor matches a list of names in brackets, as text next to a tensor gives its sizes.
var sizesOfTensor = regexp.MustCompile(`[\[(]\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)+)\s*[\])]`)

// namedAlike returns the sizes that the comments of a Python function name alike for two tensors: with "q:
// (B, H, T, D)" and "k: (B, H, T, D)" both have T tokens. The function is judged where they are equal.
func (b *Binding) namedAlike() [][]string {
	if b.Function.Kind != cfacts.Python || b.takesSizes() {
		return nil
	}
	names := b.statedSizes()
	var groups [][]string
	for _, target := range slices.Sorted(maps.Keys(b.Spec.Synonyms)) {
		dims := dimsOf(target)
		if !strings.Contains(target, "=") || len(dims) != 2 {
			continue
		}
		first, second := names[dims[0]], names[dims[1]]
		if len(first) == 1 && len(second) == 1 && first[0] == second[0] {
			groups = append(groups, dims)
		}
	}
	return groups
}

// statedSizes returns the names that the comments of a function give the sizes of the operator, each once.
func (b *Binding) statedSizes() map[string][]string {
	all := map[string][]string{}
	words := slices.Concat(docstring.FindAllString(b.Function.Parsed().Text, -1),
		cfacts.PythonComment.FindAllString(b.Function.Parsed().Text, -1))
	for _, line := range strings.Split(strings.Join(words, "\n"), "\n") {
		at := sizesOfTensor.FindStringSubmatchIndex(line)
		if at == nil {
			continue
		}
		list := strings.FieldsFunc(line[at[2]:at[3]], func(r rune) bool { return r == ',' || r == ' ' })
		for _, a := range b.Args {
			named := regexp.MustCompile(`\b` + regexp.QuoteMeta(a.Name) + `\b`).MatchString(line[:at[0]])
			if a.Role != Input || !named {
				continue
			}
			sizes := b.shape(b.tensor(a))
			if a.Adapter == BSHD {
				sizes = exchangedSizes(sizes, false)
			}
			if len(sizes) != len(list) {
				continue
			}
			for i, size := range sizes {
				if dim, plain := size.(string); plain && !slices.Contains(all[dim], list[i]) {
					all[dim] = append(all[dim], list[i])
				}
			}
		}
	}
	return all
}
