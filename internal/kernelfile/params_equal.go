package kernelfile

import (
	"strings"

	"triad/internal/ownfile/cfacts"
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
			root, _, _ := constantNamed(file, file.Tokens[i].Text)
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
