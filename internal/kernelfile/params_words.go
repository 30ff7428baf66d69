package kernelfile

import (
	"strings"

	"triad/internal/op"
)

// Matched returns the meaning of every parameter: "input = x, N = cols".
func (b *Binding) Matched() string {
	var words []string
	for _, a := range b.Args {
		switch {
		case a.dropped():
			words = append(words, a.Name+" keeps its default")
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

func names(args []Argument, at []int) string {
	var words []string
	for _, i := range at {
		words = append(words, args[i].Name)
	}
	return strings.Join(words, ", ")
}

func tensorNames(list []op.TensorSpec) string { return strings.Join(namesOf(list), ", ") }

func namesOf(list []op.TensorSpec) (words []string) {
	for _, t := range list {
		words = append(words, t.Name)
	}
	return words
}

func dimNames(s *op.Spec) string {
	var words []string
	for _, d := range s.Dims {
		words = append(words, d.Name)
	}
	return strings.Join(words, ", ")
}

func attributeNames(s *op.Spec) string {
	if len(s.Attributes) == 0 {
		return ""
	}
	var words []string
	for _, a := range s.Attributes {
		words = append(words, a.Name)
	}
	return " and the attributes " + strings.Join(words, ", ")
}
