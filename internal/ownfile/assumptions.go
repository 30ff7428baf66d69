package ownfile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/adapters"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/declared"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/launches"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/params"
)

// Assumptions lists what was assumed about a function. What the user said is no assumption.
func Assumptions(b *binding.Binding) []binding.Assumption {
	var all []binding.Assumption
	if words, parameters := params.GuessedParameters(b); len(words) > 0 {
		all = append(all, binding.Assumption{
			Kind: binding.GuessedParameter,
			What: strings.Join(words, ", ") + ", though the names say too little", Open: parameters,
			Tiny: guessesTiny(b, parameters),
		})
	}
	all = append(append(all, assumedSizes(b)...), launches.AssumedNumbers(b)...)
	if l := b.Launch; l != nil && l.Guessed {
		launch := binding.Assumption{
			Kind: binding.GuessedLaunch, What: fmt.Sprintf("it is launched with grid (%s) and block (%s)",
				binding.Sizes(l.Grid), binding.Sizes(l.Block)),
			Open: []string{declared.KeyGrid, declared.KeyBlock, declared.KeyShared},
		}
		if l.Shared != "0" {
			launch.What += fmt.Sprintf(" and %s bytes of dynamic shared memory", l.Shared)
		}
		all = append(all, launch)
	}
	if l := b.Triton; l != nil && !l.Said {
		all = append(all, binding.Assumption{
			Kind: binding.GuessedLaunch, What: "it is launched with " + l.String(),
			Open: []string{declared.KeyGrid},
		})
	}
	for _, a := range b.Spec.Attributes {
		if value := b.GuessedAttribute(a); value != "" {
			assumed := binding.Assumption{
				Kind: binding.GuessedAttribute, What: a.Name + " is " + value, Attribute: a.Name,
				Value: value, Open: []string{a.Name}, Tiny: a.Type == "float" && isTiny(value),
			}
			if others := smallLiterals(b); a.Type == "float" && len(others) > 0 {
				assumed.Contradicted = others[0]
				assumed.What += ", where its lines have " + others[0]
			}
			all = append(all, assumed)
		}
	}
	all = append(all, doubleAttributes(b)...)
	all = slices.Concat(all, adapters.AssumedForms(b), params.AssumedFirst(b), extents.AssumedHalves(b))
	if words := guessedLayout(b); words != "" && len(b.Spec.Own.Flat) > 0 {
		all = append(all,
			binding.Assumption{Kind: binding.GuessedLayout, What: words, Open: b.TensorParameters()})
	}
	return all
}

// assumedSizes returns the assumptions about sizes that neither a parameter gives nor a constant that the
// file allocates with.
func assumedSizes(b *binding.Binding) (all []binding.Assumption) {
	for _, d := range b.Spec.Dims {
		n, implied := b.Implied[d.Name]
		if _, said := b.Options.Dims[d.Name]; said && b.GuessedSizes == nil { // by the user
			continue
		}
		if guessed, constant := b.GuessedSizes[d.Name]; constant {
			n, implied = guessed, true
		}
		if implied && !slices.Contains(b.Options.Without, d.Name) {
			all = append(all, binding.Assumption{
				Kind: binding.GuessedSize, What: fmt.Sprintf("%s is %d", d.Name, n), Open: []string{d.Name},
			})
		}
	}
	return all
}

// guessesTiny reports whether one of the parameters is taken for an attribute that ordinary numbers hide.
func guessesTiny(b *binding.Binding, parameters []string) bool {
	return slices.ContainsFunc(b.Args, func(a binding.Argument) bool {
		at := slices.IndexFunc(b.Spec.Attributes, func(t op.AttributeSpec) bool { return t.Name == a.Target })
		return a.Role == binding.Attribute && at >= 0 && slices.Contains(parameters, a.Name) &&
			b.Spec.Attributes[at].Type == "float" && isTiny(fmt.Sprint(b.Spec.Attributes[at].Default))
	})
}

// doubleAttributes returns the assumptions about attributes whose value stands in the lines as a double:
// products with it may differ in the last bit from those with the operator's float. An eps is added, and
// hides that.
func doubleAttributes(b *binding.Binding) []binding.Assumption {
	var all []binding.Assumption
	for _, a := range b.Spec.Attributes {
		_, said := b.Options.Attrs[a.Name]
		if said || a.Type != "float" || b.Has(binding.Attribute, a.Name) {
			continue
		}
		_, value := b.AttributeValue(a)
		n, err := strconv.ParseFloat(value, 64)
		if err == nil && !isTiny(value) && slices.Contains(b.Doubles, n) {
			all = append(all, binding.Assumption{
				Kind: binding.GuessedAttribute, Attribute: a.Name, Double: true,
				What: fmt.Sprintf("%s is the float %s, where its lines have the double (%sf is the float)",
					a.Name, value, value),
				Value: value, Open: []string{a.Name},
			})
		}
	}
	return all
}

// withSingles returns the interpretation of a CUDA file in which doubles that are attribute values become
// floats, as the operator has them: a function is not wrong for their last bits.
func withSingles(b *binding.Binding) []binding.Alternative {
	var values []float64
	for _, a := range doubleAttributes(b) {
		if n, err := strconv.ParseFloat(a.Value, 64); err == nil {
			values = append(values, n)
		}
	}
	if len(values) == 0 {
		return nil
	}
	return []binding.Alternative{{
		Flags: fmt.Sprintf("%v as the float %[1]vf", values[0]), Options: binding.Options{Singles: values},
	}}
}

// isTiny reports whether a number is not 0 and small compared to ordinary ones.
func isTiny(text string) bool {
	n, err := strconv.ParseFloat(text, 64)
	return err == nil && n != 0 && math.Abs(n) < 1e-3
}

// guessedLayout names the order in which the sizes of tensors with three or more are assumed to lie, unless
// the user said that this order is meant.
func guessedLayout(b *binding.Binding) string {
	for _, a := range b.Args {
		if a.Role != binding.Input || b.Stated(a) || b.Ordered || a.Adapter == layout.BSHD {
			continue
		}
		if list, _ := b.InputSpecs[a.Index].Shape.([]any); len(list) >= 3 {
			return fmt.Sprintf("%s lies as %s %v, row after row", a.Name, a.Target, binding.ShapeWords(list))
		}
	}
	return ""
}

// smallLiterals returns the numbers of the file that may be an eps: "1e-06".
func smallLiterals(b *binding.Binding) []string {
	var all []string
	for _, n := range b.Literals {
		if text := strconv.FormatFloat(n, 'g', -1, 64); n > 0 && n < 0.01 && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// Guesses reports whether a parameter was taken for a size though its name says too little.
func Guesses(b *binding.Binding) bool {
	_, guessed := params.GuessedParameters(b)
	return slices.ContainsFunc(b.Args, func(a binding.Argument) bool {
		return a.Role == binding.Size && slices.Contains(guessed, a.Name)
	})
}

// guessedDTypes returns the doubt about the dtypes beyond fp32 of a function that takes any, where neither
// its file nor the user names one: its author may never have offered them.
func guessedDTypes(b *binding.Binding) string {
	if b.WithoutDType && b.Sixteen {
		return doubt(b, []binding.Assumption{{
			Kind: binding.GuessedDType, What: "its tensors are fp32, and its lines name a type of 16 bits",
			Open: []string{declared.KeyDType},
		}})
	}
	others := b.UnstatedDTypes()
	if len(others) == 0 {
		return ""
	}
	return doubt(b, []binding.Assumption{{
		Kind: binding.GuessedDType, What: "it takes " + strings.Join(others, " and "),
		Open: []string{declared.KeyDType},
	}})
}
