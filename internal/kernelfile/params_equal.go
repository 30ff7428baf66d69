package kernelfile

import (
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
	"triad/internal/ownfile/observed"
)

// takeElements takes the only number of a function of elements, whatever its name, for the number of
// elements.
func (b *Binding) takeElements(a *Argument, numbers []int) bool {
	all := dimNames(b.Spec)
	product := strings.Join(all, " * ")
	if _, counted := b.Spec.Synonyms[product]; !counted || len(all) < 2 || len(numbers) != 1 ||
		!a.IsInteger() || b.givesAnySize() || len(b.Options.Dims) > 0 && len(b.unmatchedSizes(a.Param)) < 2 {
		return false
	}
	a.Role, a.Target = Size, product
	return true
}

// neededDims returns the sizes of an operator that a function must be given.
func (b *Binding) neededDims() (needed []string) {
	for _, d := range b.Spec.Dims {
		if d.Default == "" {
			needed = append(needed, d.Name)
		}
	}
	return needed
}

// allEqual returns the name of the equal sizes of a square, "rows = cols", or "" if there is none.
func (b *Binding) allEqual() string {
	name := strings.Join(b.neededDims(), " = ")
	if _, known := b.Spec.Synonyms[name]; !known || !strings.Contains(name, "=") {
		return ""
	}
	return name
}

// sidesOfSquare reports whether the only constant that a kernel compares with is each side of a square: the
// file multiplies it by itself, and nothing else by it.
func (b *Binding) sidesOfSquare(file *cfacts.File, found bounds) bool {
	if len(found.values) != 1 || b.allEqual() == "" {
		return false
	}
	squares := false
	for name := range found.values {
		is := func(i int) bool {
			root, _, _ := file.Constant(file.Tokens[i].Text)
			return root == name
		}
		for i := 0; i+2 < len(file.Tokens); i++ {
			squares = squares || is(i) && file.Tokens[i+1].Text == "*" && is(i+2)
		}
		body := b.Function.Body
		for i := 1; i+2 < len(body) && found.products; i++ {
			compared := isComparison(body[i-1]) && body[i].Text == name && body[i+1].Text == "*"
			if compared && body[i+2].Text != name {
				return false
			}
		}
	}
	return squares
}

// mostWork is the maximum number of steps of a case of constants; those of an emulator are slow.
const mostWork = 1 << 26

// work returns the number of steps of a case in which each element of a product is a sum as long as one of
// its sizes.
func (b *Binding) work(dims map[string]int64) int64 {
	steps := int64(1)
	for _, name := range b.neededDims() {
		steps *= min(max(dims[name], 1), mostWork+1)
		steps = min(steps, mostWork+1)
	}
	return steps
}

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
					func(d op.DimSpec) bool { return b.score(o, d.Name) > match.Weak })
		})
	}
	named := slices.Contains(elementWords, match.Snake(p.Name)) &&
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
