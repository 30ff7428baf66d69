package kernelfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"triad/internal/ownfile/pyfacts"
)

// aLength matches what people call a number of queries or keys.
const aLength = `\b(?:[a-z_]\w*\.(?:shape\[[^\]\n]*\]|size\([^)\n]*\))|(?:(?:seq|len|n?_?ctx|tgt|src)\w*|` +
	`[a-z]{0,2}_?(?:kv|q|k)_?(?:len|seq|size)\w*|[lstnm]_?(?:kv|q|k)|[lstnmqk])\b)`

// shifted matches a difference of two sizes: where the last query sees the last key, whatever their numbers
// are, the mask is moved by it.
var shifted = regexp.MustCompile(`(?i)` + aLength + `\s*-\s*\(?\s*` + aLength)

// masksTriangle says whether the lines of a function of Python, and of the kernels that it launches, always
// leave the keys out that lie behind a query, whatever it is called with: a comparison of rows with columns,
// or a triangle of torch's. What stands below an if, or beside a choice, is no such line.
func (b *Binding) masksTriangle(name string) bool {
	if _, is := b.Spec.Own.Triangle[name]; !is || b.Function.Kind != Python {
		return false
	}
	for _, m := range []pyfacts.Masks{b.Function.said().Masks, b.Function.said().KernelMasks} {
		if slices.ContainsFunc(m.Params, func(p string) bool { return saysSwitch(p, name) }) {
			return false
		}
		if slices.ContainsFunc(m.Always, func(of string) bool { return of == "" || speaksOf(of, name) }) {
			return true
		}
	}
	return false
}

// speaksOf says whether a variable is called like a switch.
func speaksOf(variable, name string) bool { return strings.Contains(strings.ToLower(variable), name) }

// maskedAlways says whether the kernels that a function launches have no parameter for a switch and make what
// is called like it of a comparison: "causal = rows >= cols".
func (fn *Function) maskedAlways(name string) bool {
	speaks := func(of string) bool { return speaksOf(of, name) }
	m := fn.said().KernelMasks
	return slices.ContainsFunc(m.Always, speaks) && !slices.ContainsFunc(m.Params, speaks) &&
		!slices.ContainsFunc(m.Tested, speaks)
}

// countsFromTheFirst says whether the lines hold such a mask, chosen or not, in which queries and keys are
// counted from the first one on: of different numbers of them the operator counts from the last, and the
// file says nothing of these.
func (b *Binding) countsFromTheFirst() bool {
	if b.Function.Kind != Python {
		return false
	}
	own, kernels := b.Function.said().Masks, b.Function.said().KernelMasks
	return (own.Any || kernels.Any) && !own.Moved && !kernels.Moved &&
		!shifted.MatchString(b.Function.text) && !shifted.MatchString(b.Function.kernels)
}

// squareMasks are the sizes of the masks that a function always makes and counts from the first.
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

// whereRowsSee are the conditions under which a mask of a function of Python is the operator's: its sizes
// are equal where it counts from the first, and no query is left without a key, of which people give 0, NaN
// or a mean. The user may say that the switch is on.
func (b *Binding) whereRowsSee() []condition {
	var all []condition
	for _, name := range slices.Sorted(maps.Keys(b.Spec.Own.Triangle)) {
		if _, said := b.Options.Attrs[name]; said || b.Function.Kind != Python {
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

// saysSwitch says whether a parameter is one for a switch, or for a mask.
func saysSwitch(parameter, name string) bool {
	parameter = strings.ToLower(parameter)
	return strings.Contains(parameter, name) || strings.Contains(parameter, "mask") ||
		strings.Contains(parameter, "stage")
}
