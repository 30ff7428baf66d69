package kernelfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// usualHalved is the value of a halved size where neither a constant nor the user gives its length: odd, so
// that both sides are equally long.
const usualHalved = 5

// readHalved reads attributes without a parameter that are half of a size: lines that halve the length of a
// filter, "i - taps / 2", begin so far before their element. The function is then judged with one odd size.
func (b *Binding) readHalved(file *File) {
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
		names := b.namesOf(file, dim)
		if n%2 == 0 || !b.Function.halvesInPython(names) && !file.halves(&b.Function, names, namedDepth) {
			continue
		}
		b.named[name] = strconv.FormatInt(n/2, 10)
		if b.oddSizes == nil {
			b.oddSizes = map[string]int64{}
		}
		b.oddSizes[dim] = n
	}
}

// namesOf returns the parameters and the constants of the file that stand for a size.
func (b *Binding) namesOf(file *File, dim string) []string {
	names := b.argumentsThat(func(a Argument) bool { return a.Role == Size && a.Target == dim })
	for name := range file.defines {
		if score(b.Spec, b.Pass, name, dim) > scoreWeak {
			names = append(names, name)
		}
	}
	return names
}

// halves reports whether the lines of a function, or of functions that it passes a size to, halve one of the
// names: k / 2, k >> 1, (k - 1) / 2.
func (f *File) halves(fn *Function, names []string, depth int) bool {
	body := fn.body
	names = slices.Clone(names)
	for i, t := range body {
		if slices.Contains(names, t.text) {
			if copied := copiedTo(body, i); copied != "" {
				names = append(names, copied)
			}
			at := i + 1
			if textsAt(body, at, "-", "1", ")") {
				at += 3
			} else if textAt(body, at) == ")" {
				at++
			}
			if textsAt(body, at, "/", "2") || textsAt(body, at, ">>", "1") {
				return true
			}
		}
		callee, open := f.anyCalled(fn, i)
		if callee == nil || depth == 0 {
			continue
		}
		handed := slices.DeleteFunc(slices.Clone(names), func(name string) bool {
			_, constant := f.defines[name]
			return !constant
		})
		for at, argument := range split(inside(body, open)) {
			if at < len(callee.Params) && slices.Contains(names, join(withoutCast(argument))) {
				handed = append(handed, callee.Params[at].Name)
			}
		}
		if f.halves(callee, handed, depth-1) {
			return true
		}
	}
	return false
}

// halvesInPython reports whether the lines of a Python function, or of kernels that it launches, halve one of
// the names: k // 2, (k - 1) // 2.
func (fn *Function) halvesInPython(names []string) bool {
	for _, p := range fn.Params {
		if slices.Contains(names, p.Name) {
			names = append(names, p.called...)
		}
	}
	return fn.Kind == Python && slices.ContainsFunc(names, func(name string) bool {
		halved := `\b` + regexp.QuoteMeta(name) + `\s*(?:-\s*1\s*)?\)?\s*(?://\s*2|>>\s*1)\b`
		return regexp.MustCompile(halved).MatchString(fn.said().Asking + fn.kernels)
	})
}

// copiedTo returns the variable that gets the value of a name alone, "const int K = (int) size;", or "".
func copiedTo(body []token, at int) string {
	if at+1 >= len(body) || body[at+1].text != ";" && body[at+1].text != ")" {
		return ""
	}
	begin := at
	for begin > 0 && begin > at-8 && body[begin-1].text != "=" && body[begin-1].text != ";" {
		begin--
	}
	end := at + 1
	if body[end].text == ")" {
		end++
	}
	if begin < 2 || body[begin-1].text != "=" || end >= len(body) || body[end].text != ";" ||
		join(withoutCast(body[begin:end])) != body[at].text {
		return ""
	}
	return body[begin-2].text
}

// withoutCast returns the operand of a conversion: n of "(int) n", "(const size_t) n", "static_cast<int>(n)"
// and "int(n)".
func withoutCast(words []token) []token {
	if len(words) > 3 && words[0].text == "static_cast" {
		if open := slices.IndexFunc(words, func(t token) bool { return t.text == "(" }); open > 0 {
			return inside(words, open)
		}
	}
	isType := func(t token) bool {
		return slices.Contains(builtin, t.text) || t.text == "const" || strings.HasSuffix(t.text, "_t")
	}
	if len(words) > 3 && words[0].text == "(" {
		if close := closing(words, 0); close > 1 && close < len(words)-1 &&
			!slices.ContainsFunc(words[1:close], func(t token) bool { return !isType(t) }) {
			return withoutCast(words[close+1:])
		}
	}
	if len(words) > 3 && isType(words[0]) && words[1].text == "(" && closing(words, 1) == len(words)-1 {
		return inside(words, 1)
	}
	return words
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
		if b.Function.Kind == Python {
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
