// Package launchfit finds how the numbers of an observed launch follow from the sizes of an operator, and
// joins the launches of a main() into a function.
package launchfit

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
)

// Fit finds how the numbers of an observed launch follow from the sizes that it had.
type Fit struct {
	Sizes map[string]int64
	Order []string // of the sizes, the likely ones first; nil: by name
	Block [3]int64
	Axis  int        // of the grid
	Equal [][]string // sizes that are equal at every call
	Named []string   // sizes that the file writes the number with; nil: not known
}

// mostSteps is the most elements of a thread, or of a byte count for each size, that are tried.
const mostSteps = 64

// Number returns the expression of a number larger than 1: a size, a product, or either divided by what a
// block covers. sure means that no other size would give the number in the same way. It returns "" if there
// is none.
func (f Fit) Number(n int64) (text string, sure bool) {
	if n <= 1 {
		return "", false
	}
	for _, more := range []int64{0, 1} { // "n / 256 + 1" has one block more where 256 divides n
		for _, per := range f.steps() {
			var found []string
			for _, term := range f.terms() {
				size, _ := f.Value(term)
				if size < 2 || (size+per-1)/per+more != n || more > 0 && size%per != 0 {
					continue
				}
				switch {
				case more > 0:
					term = fmt.Sprintf("(%s) / %d + 1", term, per)
				case per > 1:
					term = fmt.Sprintf("ceildiv(%s, %d)", term, per)
				}
				found = append(found, term)
			}
			if written := slices.DeleteFunc(slices.Clone(found), f.IsOfOthers); len(written) > 0 {
				found = written
			}
			if len(found) > 0 {
				other := func(term string) bool { return f.ofEqual(term) != f.ofEqual(found[0]) }
				return found[0], !slices.ContainsFunc(found, other)
			}
		}
	}
	return "", false
}

// IsOfOthers reports whether an expression has a size that the file does not write the number with.
func (f Fit) IsOfOthers(term string) bool {
	sizes := strings.FieldsFunc(term, func(c rune) bool { return strings.ContainsRune(" *(),/+", c) })
	sizes = slices.DeleteFunc(sizes, func(word string) bool { _, is := f.Sizes[word]; return !is })
	return slices.ContainsFunc(sizes, func(size string) bool { return !slices.Contains(f.Named, size) })
}

// ofEqual returns the words of an expression without sizes that are 1 there, and with one name for sizes that
// are equal at every call.
func (f Fit) ofEqual(term string) string {
	words := strings.FieldsFunc(term, func(c rune) bool { return strings.ContainsRune(" *(),/+", c) })
	words = slices.DeleteFunc(words, func(word string) bool { return f.Sizes[word] == 1 })
	for i, word := range words {
		for _, group := range f.Equal {
			if slices.Contains(group, word) {
				words[i] = group[0]
			}
		}
	}
	return strings.Join(words, " ")
}

// steps lists by what a size may be divided: what a block covers along the axis, nothing, the other sides,
// and several elements for each thread, or a warp for each.
func (f Fit) steps() []int64 {
	own := max(f.Block[f.Axis], 1)
	all := []int64{own, 1}
	threads := int64(1)
	for _, side := range f.Block {
		all, threads = append(all, max(side, 1)), threads*max(side, 1)
	}
	for more := int64(2); more <= 16; more *= 2 {
		all = append(all, own*more)
	}
	return append(all, threads, max(threads/32, 1), 16, 32, 64)
}

// terms lists the sizes and the products of two and of all of them.
func (f Fit) terms() (all []string) {
	names := f.Order
	if names == nil {
		names = slices.Sorted(maps.Keys(f.Sizes))
	}
	all = slices.Clone(names)
	for _, name := range slices.Sorted(maps.Keys(f.Sizes)) {
		if strings.Contains(name, "*") { // a product of sizes that are not known
			all = append(all, name)
		}
	}
	for i, a := range names {
		for _, b := range names[i+1:] {
			all = append(all, a+" * "+b)
		}
	}
	if len(names) > 2 {
		all = append(all, strings.Join(names, " * "))
	}
	return all
}

// Value returns the value that an expression had.
func (f Fit) Value(text string) (n int64, known bool) {
	for name, size := range f.Sizes {
		if strings.Contains(name, "*") {
			text = strings.ReplaceAll(text, name, fmt.Sprint(size))
		}
	}
	e, err := op.ParseExpression(text, func(string) bool { return true }, false)
	if err != nil {
		return 0, false
	}
	known = true
	n, err = e.Int(func(name string) (int64, bool) {
		size, there := f.Sizes[name]
		known = known && there
		return size, there
	})
	return n, known && err == nil
}

// enoughShared is the shared memory in bytes of a launch whose own does not follow from one size: more is no
// harm.
const enoughShared = 40 << 10

// mostShared is the shared memory in bytes that a launch may have without asking for more.
const mostShared = 48 << 10

// Shared returns the expression of dynamic shared memory in bytes: for each thread, or for each element of a
// size, whichever is more where both fit. Of two that fit, one above what a launch may have is not meant.
func (f Fit) Shared(bytes int64) string {
	if bytes == 0 {
		return "0"
	}
	threads := max(f.Block[0], 1) * max(f.Block[1], 1) * max(f.Block[2], 1)
	var found []string
	each := func(size int64, name string) {
		if size > 1 && bytes%size == 0 && bytes/size <= mostSteps {
			found = append(found, fmt.Sprintf("%s * %d", name, bytes/size))
		}
	}
	each(threads, fmt.Sprint(threads))
	for _, name := range slices.Sorted(maps.Keys(f.Sizes)) {
		each(f.Sizes[name], name)
	}
	switch len(found) {
	case 0:
		return fmt.Sprint(max(bytes, enoughShared))
	case 1:
		return found[0]
	}
	return fmt.Sprintf("min(max(%s, %s), %d)", found[0], found[1], max(mostShared, bytes))
}

// Axes lists the members of blockIdx and threadIdx.
var Axes = [3]string{"x", "y", "z"}
