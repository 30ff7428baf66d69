package kernelfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"triad/internal/ownfile/cfacts"
)

// usualHalved is the value of a halved size where neither a constant nor the user gives its length: odd, so
// that both sides are equally long.
const usualHalved = 5

// readHalved reads attributes without a parameter that are half of a size: lines that halve the length of a
// filter, "i - taps / 2", begin so far before their element. The function is then judged with one odd size.
func (b *Binding) readHalved(file *cfacts.File) {
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Halved)) {
		dim := b.Spec.Own.Halved[name]
		if b.has(Attribute, name) || b.Options.Attrs[name] != "" && b.Options.said == nil {
			continue
		}
		n, said := b.Options.Dims[dim]
		if !said {
			n, said = b.constantSize(file, dim)
		}
		if !said {
			n = usualHalved
		}
		python := b.Function.Kind == cfacts.Python &&
			halvedInPython.MatchString(b.Function.Parsed().Asking+b.Function.Kernels)
		if n%2 == 0 || !python && !halvesSizes(file, &b.Function) {
			continue
		}
		b.named[name] = strconv.FormatInt(n/2, 10)
		if b.oddSizes == nil {
			b.oddSizes = map[string]int64{}
		}
		b.oddSizes[dim] = n
	}
}

// halvedInPython matches a division of a name, or of one less, by 2: k // 2, (k - 1) // 2.
var halvedInPython = regexp.MustCompile(`\w\s*(?:-\s*1\s*)?\)?\s*(?://\s*2|>>\s*1)\b`)

// halvesSizes reports whether the lines of a function, or of one that it calls, halve a number other than
// those of the launch: k / 2, k >> 1, (k - 1) / 2.
func halvesSizes(f *cfacts.File, fn *cfacts.Function) bool {
	return f.Anywhere(fn, func(fn *cfacts.Function, i int) bool {
		of := cfacts.TextAt(fn.Body, i-1)
		return (cfacts.TextsAt(fn.Body, i, "/", "2") || cfacts.TextsAt(fn.Body, i, ">>", "1")) &&
			cfacts.TextAt(fn.Body, i-2) != "." && (of == ")" || i > 0 && fn.Body[i-1].IsName())
	})
}

// halvedSizes returns the conditions that a case has the odd sizes that a function is judged with.
func (b *Binding) halvedSizes() []condition {
	return b.sizesAre(b.oddSizes, "its lines halve %[1]s: it is judged with %[1]s = %[2]d")
}

// sizesAre returns the conditions that a case has the given sizes. sentence gives the reason, from a size's
// name and its value.
func (b *Binding) sizesAre(sizes map[string]int64, sentence string) []condition {
	var all []condition
	for _, dim := range slices.Sorted(maps.Keys(sizes)) {
		code := dim
		if b.Function.Kind == cfacts.Python {
			code = pythonName(dim)
		}
		all = append(all, condition{
			fmt.Sprintf("%s == %d", code, sizes[dim]), fmt.Sprintf(sentence, dim, sizes[dim]),
		})
	}
	return all
}

// assumedHalves returns the assumptions about attributes that were read as half of a size.
func (b *Binding) assumedHalves() []Assumption {
	var all []Assumption
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Halved)) {
		dim := b.Spec.Own.Halved[name]
		if _, halved := b.oddSizes[dim]; halved && b.named[name] != "" && b.Options.Attrs[name] == "" {
			all = append(all, Assumption{
				Kind: GuessedForm, What: fmt.Sprintf("%s is %s, half of %s", name, b.named[name], dim),
				anySize: true,
			})
		}
	}
	return all
}
