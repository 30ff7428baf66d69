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

// endings lists the functions that end the process.
var endings = []string{"exit", "abort", "_Exit", "quick_exit"}

// EndsForSizes reports whether a host function ends the process under a condition on one of its sizes, before
// it does anything with its tensors: so it rejects sizes that it is not written for.
func (b *Binding) EndsForSizes() bool {
	ends, _ := b.sizesAskedFor()
	return ends
}

// sizesAskedFor reads the conditions on sizes under which the lines of a host function end the process,
// return or throw, "if (cols != 1024) exit(1)": ends says that one ends the process, sizes are those that
// are compared with a number.
func (b *Binding) sizesAskedFor() (ends bool, sizes map[string]int64) {
	sizes = map[string]int64{}
	if b.Function.Kind != cfacts.Host {
		return false, sizes
	}
	body := b.Function.Body
	sizeOf := func(name string) string {
		for _, a := range b.Args {
			if a.Name == name && a.Role == Size && len(dimsOf(a.Target)) == 1 {
				return a.Target
			}
		}
		return ""
	}
	for i := 0; i+1 < len(body) && body[i].Text != "<<<"; i++ {
		if body[i].Text != "if" || body[i+1].Text != "(" {
			continue
		}
		condition, close := cfacts.Inside(body, i+1), cfacts.Closing(body, i+1)
		asks := slices.ContainsFunc(condition, func(t cfacts.Token) bool { return sizeOf(t.Text) != "" })
		under := statementAt(body, close+1)
		is := func(words ...string) bool {
			return slices.ContainsFunc(under, func(t cfacts.Token) bool {
				return slices.Contains(words,
					t.Text)
			})
		}
		if !asks || is("<<<") {
			continue
		}
		ends = ends || is(endings...)
		if !is(endings...) && !is("return", "throw") || len(condition) != 3 {
			continue
		}
		n, err := strconv.ParseInt(condition[2].Text, 10, 64)
		if _, value, named := constantNamed(b.file, condition[2].Text); named {
			n, err = value, nil
		}
		if dim := sizeOf(condition[0].Text); dim != "" && condition[1].Text == "!=" && err == nil && n > 0 {
			sizes[dim] = n
		}
	}
	return ends, sizes
}

// statementAt returns the tokens of the statement at a place: those of a block, or up to a semicolon.
func statementAt(body []cfacts.Token, at int) []cfacts.Token {
	if at >= len(body) {
		return nil
	}
	if body[at].Text == "{" {
		return cfacts.Inside(body, at)
	}
	end := at
	for end < len(body) && body[end].Text != ";" {
		end++
	}
	return body[at:end]
}
