package kernelfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/pyfacts"
)

// aLength matches common names of a number of queries or keys.
const aLength = `\b(?:[a-z_]\w*\.(?:shape\[[^\]\n]*\]|size\([^)\n]*\))|(?:(?:seq|len|n?_?ctx|tgt|src)\w*|` +
	`[a-z]{0,2}_?(?:kv|q|k)_?(?:len|seq|size)\w*|[lstnm]_?(?:kv|q|k)|[lstnmqk])\b)`

// shifted matches a difference of two sizes: if the last query sees the last key, whatever their numbers, the
// mask is shifted by it.
var shifted = regexp.MustCompile(`(?i)` + aLength + `\s*-\s*\(?\s*` + aLength)

// masksTriangle reports whether the lines of a Python function, and of the kernels that it launches, always
// leave out the keys after a query, whatever the arguments: by a comparison of rows with columns, or a
// triangle of torch's. Lines under an if or next to a choice do not count.
func (b *Binding) masksTriangle(name string) bool {
	if _, is := b.Spec.Own.Triangle[name]; !is || b.Function.Kind != cfacts.Python {
		return false
	}
	for _, m := range []pyfacts.Masks{b.Function.Parsed().Masks, b.Function.Parsed().KernelMasks} {
		if slices.ContainsFunc(m.Params, func(p string) bool { return saysSwitch(p, name) }) {
			return false
		}
		if slices.ContainsFunc(m.Always, func(of string) bool { return of == "" || speaksOf(of, name) }) {
			return true
		}
	}
	return false
}

// speaksOf reports whether a variable is named like a switch.
func speaksOf(variable, name string) bool { return strings.Contains(strings.ToLower(variable), name) }

// maskedAlways reports whether the kernels that a function launches have no parameter for a switch, and
// compute a variable named like it by a comparison: "causal = rows >= cols".
func maskedAlways(fn *cfacts.Function, name string) bool {
	speaks := func(of string) bool { return speaksOf(of, name) }
	m := fn.Parsed().KernelMasks
	return slices.ContainsFunc(m.Always, speaks) && !slices.ContainsFunc(m.Params, speaks) &&
		!slices.ContainsFunc(m.Tested, speaks)
}

// countsFromTheFirst reports whether the lines hold such a mask, chosen or not, that counts queries and keys
// from the first one: if their numbers differ the operator counts from the last, and the file does not cover
// that case.
func (b *Binding) countsFromTheFirst() bool {
	if b.Function.Kind != cfacts.Python {
		return false
	}
	own, kernels := b.Function.Parsed().Masks, b.Function.Parsed().KernelMasks
	return (own.Any || kernels.Any) && !own.Moved && !kernels.Moved &&
		!shifted.MatchString(b.Function.Code) && !shifted.MatchString(b.Function.Kernels)
}

// squareMasks returns the sizes of the masks that a function always makes and counts from the first.
func (b *Binding) squareMasks() [][]string {
	var all [][]string
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Triangle)) {
		_, said := b.Options.Attrs[name]
		if !said && !b.has(Attribute, name) && b.masksTriangle(name) && b.countsFromTheFirst() {
			all = append(all, dimsOf(b.Spec.Own.Triangle[name]))
		}
	}
	return all
}

// whereRowsSee returns the conditions under which a mask of a Python function is the operator's: its sizes
// are equal if it counts from the first, and no query is without a key, for which implementations return 0,
// NaN or a mean. The user may set the switch.
func (b *Binding) whereRowsSee() []condition {
	var all []condition
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Triangle)) {
		if _, said := b.Options.Attrs[name]; said || b.Function.Kind != cfacts.Python {
			continue
		}
		dims := dimsOf(b.Spec.Own.Triangle[name])
		test, why := "<=", fmt.Sprintf("%s > %s some rows see nothing", dims[0], dims[1])
		if b.countsFromTheFirst() {
			test = "=="
			why = fmt.Sprintf("%s other than %s its mask counts from the first of both", dims[0], dims[1])
		}
		all = append(all, condition{
			fmt.Sprintf("not attributes[%q] or %s %s %s",
				name, pythonName(dims[0]), test, pythonName(dims[1])),
			fmt.Sprintf("with %s and %s, and its lines say nothing of that: say --attr %[1]s=true",
				name, why),
		})
	}
	return all
}

// saysSwitch reports whether a parameter is a switch or a mask.
func saysSwitch(parameter, name string) bool {
	parameter = strings.ToLower(parameter)
	return strings.Contains(parameter, name) || strings.Contains(parameter, "mask") ||
		strings.Contains(parameter, "stage")
}

// maskUnderSwitch matches a mask of two indices below its switch: "causal && key > query".
var maskUnderSwitch = regexp.MustCompile(`(?i)\b\w*causal\w* ?&& ?\(?\w+ ?[<>]=? ?\w+ ?(?:\)|&&|\|\|)`)

// squareUnderSwitch returns the conditions under which a mask of a CUDA file is the operator's, if it counts
// queries and keys from the first and a parameter switches it: their numbers must be equal. The user may set
// the switch.
func (b *Binding) squareUnderSwitch() []condition {
	var all []condition
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Triangle)) {
		is := func(a Argument) bool { return a.Role == Attribute && a.Target == name }
		i := slices.IndexFunc(b.Args, is)
		if _, said := b.Options.Attrs[name]; said || i < 0 ||
			!countsFromTheFirst(b.file, &b.Function) {
			continue
		}
		dims := dimsOf(b.Spec.Own.Triangle[name])
		all = append(all, condition{
			fmt.Sprintf("%s == 0 || %s == %s", name, dims[0], dims[1]),
			fmt.Sprintf("with %s and %s other than %s its mask counts from the first of both, and its lines "+
				"say nothing of that: say --attr %[1]s=true", name, dims[0], dims[1]),
		})
	}
	return all
}

// countsFromTheFirst reports whether the lines of a function, or of those that it calls or launches, hold
// such a mask, and none of them shifts it by the difference of two of their sizes.
func countsFromTheFirst(f *cfacts.File, fn *cfacts.Function) bool {
	shifts := func(fn *cfacts.Function, i int) bool {
		return i > 0 && i+1 < len(fn.Body) && fn.Body[i].Text == "-" &&
			fn.HasSize(fn.Body[i-1].Text) && fn.HasSize(fn.Body[i+1].Text)
	}
	masks := func(fn *cfacts.Function, i int) bool {
		return i == 0 && maskUnderSwitch.MatchString(cfacts.Join(fn.Body))
	}
	return !f.Anywhere(fn, shifts) && f.Anywhere(fn, masks)
}
