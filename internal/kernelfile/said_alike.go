package kernelfile

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// sizesOfTensor matches a list of names in brackets, as words beside a tensor give its sizes.
var sizesOfTensor = regexp.MustCompile(`[\[(]\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)+)\s*[\])]`)

// saidAlike are the sizes that the words of a function of Python give one name for two tensors: of
// "q: (B, H, T, D)" and "k: (B, H, T, D)" both have T tokens. It is judged where they are equal.
func (b *Binding) saidAlike() [][]string {
	if b.Function.Kind != Python || b.takesSizes() {
		return nil
	}
	names := b.saidSizes()
	var groups [][]string
	for _, target := range slices.Sorted(maps.Keys(b.Spec.Synonyms)) {
		dims := dimsOf(target)
		if !strings.Contains(target, "=") || len(dims) != 2 {
			continue
		}
		first, second := names[dims[0]], names[dims[1]]
		if len(first) == 1 && len(second) == 1 && first[0] == second[0] || b.shapesAlike(dims[0], dims[1]) {
			groups = append(groups, dims)
		}
	}
	return groups
}

// shapesAlike says whether the lines compare the shapes of two tensors, "q.shape == k.shape", that have two
// sizes at the same place.
func (b *Binding) shapesAlike(first, second string) bool {
	text := pythonComment.ReplaceAllString(docstring.ReplaceAllString(b.Function.text, ""), "")
	for _, one := range b.Args {
		for _, other := range b.Args {
			if one.Role != Input || other.Role != Input || !b.atOnePlace(one, first, other, second) {
				continue
			}
			compared := regexp.MustCompile(`\b` + regexp.QuoteMeta(one.Name) + `\.shape\s*[!=]=\s*(?:\w+\.shape\s*[!=]=` +
				`\s*)*` + regexp.QuoteMeta(other.Name) + `\.shape\b[^\[]`)
			if compared.MatchString(text + "\n") {
				return true
			}
		}
	}
	return false
}

// atOnePlace says whether one tensor has a size where another one has the other size.
func (b *Binding) atOnePlace(one Argument, first string, other Argument, second string) bool {
	sizes, others := b.shape(b.tensor(one)), b.shape(b.tensor(other))
	i := slices.Index(sizes, any(first))
	return i >= 0 && i < len(others) && others[i] == any(second)
}

// saidSizes are the names that the words of a function give the sizes of the operator, each once.
func (b *Binding) saidSizes() map[string][]string {
	all := map[string][]string{}
	words := slices.Concat(docstring.FindAllString(b.Function.text, -1),
		pythonComment.FindAllString(b.Function.text, -1))
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
			if a.Form == ByToken {
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
