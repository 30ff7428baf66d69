package kernelfile

import (
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/observed"
)

// scoreProduct is the score of a parameter to which callers pass a product of sizes: more than that of any
// name.
const scoreProduct = 250

// elementWords lists names of the number of all elements of a tensor.
var elementWords = strings.Fields("numel nelem nelems elements num_elements n_elements nelements " +
	"num_elems n_elems total total_elements total_size")

// countsAll reports whether a number of a function that takes more of them is that of all elements: by its
// name, or since the lines divide it by a size.
func (b *Binding) countsAll(p cfacts.Param) bool {
	size := func(name string) bool {
		return slices.ContainsFunc(b.Function.Params, func(o cfacts.Param) bool {
			return o.Name == name && o.Name != p.Name && o.IsInteger() && !countsThreads(o) &&
				slices.ContainsFunc(b.Spec.Dims,
					func(d op.DimSpec) bool { return b.score(o, d.Name) > scoreWeak })
		})
	}
	named := slices.Contains(elementWords, snake(p.Name)) &&
		slices.ContainsFunc(b.Function.Params, func(o cfacts.Param) bool { return size(o.Name) })
	for i, t := range b.Function.Body {
		if t.Text == p.Name && i+2 < len(b.Function.Body) && size(b.Function.Body[i+2].Text) &&
			(b.Function.Body[i+1].Text == "/" || b.Function.Body[i+1].Text == "%") {
			return true
		}
	}
	return named
}

// countedProduct returns the product of the sizes of the first input, "rows * cols", if it has two and a
// parameter is that: it counts all elements, or main() gives a kernel a number for it that is the length of a
// tensor, and one of its sizes. It returns "" otherwise.
func (b *Binding) countedProduct(p cfacts.Param) string {
	if b.file == nil || !p.IsInteger() || len(b.inputs) == 0 {
		return ""
	}
	dims := b.neededDims()
	if len(dims) != 2 || len(b.shape(b.inputs[0])) != 2 || !b.countsAll(p) && !b.seenToCountAll(p) {
		return ""
	}
	return strings.Join(dims, " * ")
}

// seenToCountAll reports whether main() gives a kernel the length of one of its tensors for a parameter, and
// a divisor of it for another one.
func (b *Binding) seenToCountAll(p cfacts.Param) bool {
	run := b.file.Observed()
	if run == nil || b.Function.Kind != cfacts.Kernel {
		return false
	}
	l := run.FirstLaunch(cfacts.LastName(b.Function.Name), len(b.Function.Params))
	if l == nil {
		return false
	}
	at := slices.IndexFunc(b.Function.Params, func(o cfacts.Param) bool { return o.Name == p.Name })
	all := l.Arguments[at].Whole
	return slices.ContainsFunc(l.Arguments, func(a observed.Argument) bool {
		return run.Room(a) == all*max(a.Bytes, 1) && all > 0
	}) && slices.ContainsFunc(l.Arguments, func(a observed.Argument) bool {
		return a.Kind == observed.Whole && a.Whole > 1 && a.Whole < all && all%a.Whole == 0
	})
}
