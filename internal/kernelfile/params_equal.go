package kernelfile

import (
	"strings"
)

// takeOfEqual takes a number for one of two sizes that another parameter was taken for by itself: that one
// has the other size, as in (N, S) for queries and keys.
func (b *Binding) takeOfEqual(a *Argument) bool {
	for i := range b.Args {
		both := &b.Args[i]
		dims := strings.Split(both.Target, " = ")
		if both.Role != Size || len(dims) != 2 || b.said(*both) || !a.isInteger() {
			continue
		}
		for k, dim := range dims {
			if score(b.Spec, b.Pass, a.Name, dim) > scoreWeak {
				both.Target, a.Role, a.Target = dims[1-k], Size, dim
				both.Index, a.Index = b.dimIndex(both.Target), b.dimIndex(a.Target)
				return true
			}
		}
	}
	return false
}

// takeElements takes the only number of a function of elements, whatever it is called, for how many there
// are.
func (b *Binding) takeElements(a *Argument, numbers []int) bool {
	var all []string
	for _, d := range b.Spec.Dims {
		all = append(all, d.Name)
	}
	product := strings.Join(all, " * ")
	if _, counted := b.Spec.Synonyms[product]; !counted || len(all) < 2 || len(numbers) != 1 ||
		!a.isInteger() || b.givesAnySize() || len(b.Options.Dims) > 0 && len(b.unmatchedSizes(a.Param)) < 2 {
		return false
	}
	a.Role, a.Target = Size, product
	return true
}
