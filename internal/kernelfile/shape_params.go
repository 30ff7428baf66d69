package kernelfile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
)

var (
	shapeName = regexp.MustCompile(`^(?:(?:in|input|x|a|tensor)_)?(?:shape|dims|sizes)$`)
	countName = regexp.MustCompile(`^(?:n_?dims?|num_dims|rank|dim_count)$`)
)

// takeShape takes a pointer to integers that is named like a shape for the sizes of the first tensor, in
// memory that host and device read.
func (b *Binding) takeShape(a *Argument) bool {
	if b.Function.Kind == Python || b.extension || !a.Pointer || a.Role != Nothing ||
		!slices.Contains(integerTypes, a.Base) || a.any() || !shapeName.MatchString(snake(a.Name)) {
		return false
	}
	var sizes []string
	list, _ := b.inputs[0].Shape.([]any)
	for _, size := range list {
		at := slices.IndexFunc(b.Spec.Dims, func(d op.DimSpec) bool { return d.Name == fmt.Sprint(size) })
		if at < 0 {
			return false
		}
		if b.Spec.Dims[at].Default == "" {
			sizes = append(sizes, fmt.Sprint(size))
		}
	}
	if len(sizes) == 0 {
		return false
	}
	a.Role, a.Target, a.Index = Size, strings.Join(sizes, " * "), -1
	return true
}

// takeShapeCount takes the number of sizes in a shape.
func (b *Binding) takeShapeCount(a *Argument) bool {
	at := slices.IndexFunc(b.Args, func(o Argument) bool { return o.Role == Size && o.Pointer })
	if at < 0 || !a.isInteger() || !countName.MatchString(snake(a.Name)) {
		return false
	}
	n := len(dimsOf(b.Args[at].Target))
	a.Role, a.Target, a.Index = Constant, fmt.Sprintf("%d, how many sizes %s has", n, b.Args[at].Name), n
	return true
}

// shapeCode returns the C++ of the pointer to sizes.
func (b *Binding) shapeCode(a Argument, at int) string {
	sizes := eachOf(dimsOf(a.Target), b.sizeCode)
	return fmt.Sprintf("triad_own::listed<%s, %d>({%s})", a.Base, at, strings.Join(sizes, ", "))
}
