package kernelfile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"triad/internal/ownfile/cfacts"
)

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
