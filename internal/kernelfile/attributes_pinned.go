package kernelfile

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
)

// Equal are the dims that one parameter stands for, group by group.
func (b *Binding) Equal() [][]string {
	var groups [][]string
	for _, a := range b.Args {
		if a.Role == Size && strings.Contains(a.Target, "=") {
			groups = append(groups, dimsOf(a.Target))
		}
	}
	return append(groups, b.neverAsked()...)
}

// nameSetsSwitch says whether a function's name, or that of a kernel it launches, holds the name of a switch:
// causal_attention is causal.
func (b *Binding) nameSetsSwitch(a op.AttributeSpec) bool {
	if a.Type != "bool" {
		return false
	}
	says := func(name string) bool {
		before, _, found := strings.Cut(snake(name), a.Name)
		return found && !strings.HasSuffix(strings.TrimRight(before, "_"), "non") &&
			!strings.HasSuffix(strings.TrimRight(before, "_"), "no")
	}
	return says(b.Function.Name) || b.Function.maskedAlways(a.Name) || slices.ContainsFunc(b.Function.body,
		func(t token) bool { return slices.Contains(b.kernels, t.text) && says(t.text) })
}

// literalSays is the value of an attribute that a number of the file's lines says; "" where none does.
func (b *Binding) literalSays(a op.AttributeSpec) string {
	for value, number := range b.Spec.Own.Literals[a.Name] {
		if slices.Contains(b.literals, number) {
			return value
		}
	}
	return ""
}

// guessedIgnored is the doubt about the targets that an operator ignores, where neither a parameter, the user
// nor a number of the file says which they are: the function's author may have no such targets.
func (b *Binding) guessedIgnored() string {
	for _, t := range b.inputs {
		fill, err := op.ParseFill(t.Fill)
		if err != nil || fill.Ignoring == "" || b.has(Attribute, fill.Ignoring) {
			continue
		}
		at := slices.IndexFunc(
			b.Spec.Attributes,
			func(a op.AttributeSpec) bool { return a.Name == fill.Ignoring },
		)
		_, said := b.Options.Attrs[fill.Ignoring]
		_, value := b.attributeValue(b.Spec.Attributes[at])
		n, err := strconv.ParseFloat(value, 64)
		if said || err != nil || slices.Contains(b.literals, math.Abs(n)) {
			continue
		}
		return fmt.Sprintf(
			"a %s of %s is taken to be ignored, which no line says: say --attr %s=%s if it is meant "+
				"so, else --distribution %s, where none is",
			t.Name,
			value,
			fill.Ignoring,
			value,
			op.NoneIgnored,
		)
	}
	return ""
}

// Pins are the attributes that the function is judged with alone: what its signature has no parameter for,
// and what the type of an output says. A number that follows from the sizes is none.
func (b *Binding) Pins() map[string]string {
	pins := map[string]string{}
	for _, a := range b.Spec.Attributes {
		if b.has(Attribute, a.Name) {
			continue
		}
		if _, value := b.attributeValue(a); a.Type != "bool" && a.Type != "enum" {
			if _, err := strconv.ParseFloat(value, 64); err == nil {
				pins[a.Name] = value
			}
			continue
		}
		if code, value := b.attributeValue(a); code != "" {
			pins[a.Name] = value
			continue
		}
		for _, arg := range b.Args {
			if arg.Role == Output && b.outputs[arg.Index].DType == "$"+a.Name {
				if d, any, ok := arg.instantiate(b.Cases[0].types).element(); ok && !any &&
					slices.Contains(a.Values, d.String()) {
					pins[a.Name] = d.String()
				}
			}
		}
	}
	return pins
}

// DTypes are the operator's dtype names that the function takes.
func (b *Binding) DTypes() []string {
	var names []string
	for _, c := range b.Cases {
		names = append(names, c.DType)
	}
	return names
}

// Parameters are the names of the function's parameters.
func (b *Binding) Parameters() []string {
	var names []string
	for _, a := range b.Args {
		names = append(names, a.Name)
	}
	return names
}

// attributeValue is the value of an attribute without a parameter, as C++ and in words: what --attr says,
// else the default. An enumeration that decides an output's dtype is said by the output's type.
func (b *Binding) attributeValue(a op.AttributeSpec) (code, words string) {
	words = b.Options.Attrs[a.Name]
	if words == "" {
		words = fmt.Sprint(a.Default)
		if decides, on := b.switched(a.Name); decides {
			words = strconv.FormatBool(on)
		}
		if b.nameSetsSwitch(a) {
			words = "true"
		}
		if value := b.literalSays(a); value != "" {
			words = value
		}
	}
	switch a.Type {
	case "enum":
		for _, t := range b.outputs {
			if t.DType == "$"+a.Name {
				return "", ""
			}
		}
		return fmt.Sprint(slices.Index(a.Values, words)), words
	case "bool":
		return map[bool]string{true: "1", false: "0"}[words == "true"], words
	}
	return b.expressionCode(words, true), words
}
