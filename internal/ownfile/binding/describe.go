package binding

import (
	"slices"
	"strings"

	"triad/internal/op"
)

// Matched returns the meaning of every parameter: "input = x, N = cols".
func (b *Binding) Matched() string {
	var words []string
	for _, a := range b.Args {
		switch {
		case a.Role != Nothing && a.Role != Stride:
			words = append(words, a.Name+" is "+a.meaning())
		}
	}
	return strings.Join(words, ", ")
}

// meaning returns in words what a parameter stands for.
func (a Argument) meaning() string {
	if a.Share > 0 {
		return "a factor of " + a.Target
	}
	if a.Over != "" {
		return a.Over + " and " + a.Target
	}
	return a.Target
}

// EachOf returns what give makes of each element.
func EachOf[T, R any](list []T, give func(T) R) (all []R) {
	for _, x := range list {
		all = append(all, give(x))
	}
	return all
}

// Those returns the elements that fulfil a condition.
func Those[T any](list []T, is func(T) bool) (all []T) {
	for _, x := range list {
		if is(x) {
			all = append(all, x)
		}
	}
	return all
}

// WithNew adds a value to a list that does not have it.
func WithNew[T comparable](list []T, value T) []T {
	if slices.Contains(list, value) {
		return list
	}
	return append(list, value)
}

// ArgumentsThat returns the names of the parameters that fulfil a condition.
func (b *Binding) ArgumentsThat(is func(Argument) bool) []string {
	return EachOf(Those(b.Args, is), func(a Argument) string { return a.Name })
}

func TensorNames(list []op.TensorSpec) string { return strings.Join(NamesOf(list), ", ") }

func NamesOf(list []op.TensorSpec) []string {
	return EachOf(list, func(t op.TensorSpec) string { return t.Name })
}

func DimNames(s *op.Spec) []string {
	return EachOf(s.Dims, func(d op.DimSpec) string { return d.Name })
}

func AttributeNames(s *op.Spec) []string {
	return EachOf(s.Attributes, func(a op.AttributeSpec) string { return a.Name })
}
