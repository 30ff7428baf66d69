package shim

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/extents"
	"triad/internal/ownfile/match"
)

// returnsStatistic reports whether a function returns, by its name, an optional output: the indices in
// addition to the values. A float output needs the operator's own name: other names denote other statistics
// too. Outputs whose sizes depend on a choice are never taken so.
func returnsStatistic(b *binding.Binding, t op.TensorSpec) bool {
	choice := func(a op.AttributeSpec) bool { return a.Type != "int" && sizedBy(t, a.Name) }
	if !t.Optional || slices.ContainsFunc(b.Spec.Attributes, choice) {
		return false
	}
	names := b.ReturnedNames()
	place := extents.ReturnedAs(b, t, names)
	return place >= 0 && (strings.HasPrefix(t.DType, "int") || match.Snake(names[place]) == t.Name)
}

// ReturnedLogarithms names the optional outputs that a function returns, by their names, and whose values
// other functions have to base 2: those of the exponentials that a softmax divides by.
func ReturnedLogarithms(b *binding.Binding) []string {
	return binding.NamesOf(binding.Those(b.OutputSpecs, func(t op.TensorSpec) bool {
		return t.Name == "lse" && !b.LeftOut(t) && returnsStatistic(b, t)
	}))
}

// sizedBy reports whether the sizes of a tensor name an attribute.
func sizedBy(t op.TensorSpec, attribute string) bool {
	return cfacts.HasTexts(cfacts.Lex(fmt.Sprint(t.Shape)).Tokens, attribute)
}

// spells reports whether a string of the lines of a Python function, or of those that it calls, is a word.
func spells(b *binding.Binding, fn cfacts.Function, word string, depth int) bool {
	return slices.Contains(fn.Parsed().Strings, word) || depth > 0 &&
		slices.ContainsFunc(b.Others, func(o cfacts.Function) bool {
			return o.Name != fn.Name && slices.Contains(fn.Parsed().Calls, o.Call) &&
				spells(b, o, word, depth-1)
		})
}

// ReturnedPlaces returns the positions of the outputs among the returned values, "(1, 0)", if their names
// give an order other than that of the outputs; else "".
func ReturnedPlaces(b *binding.Binding) string {
	words := ""
	for _, place := range returnedOrder(b) {
		words += fmt.Sprintf("%d, ", place)
	}
	return strings.TrimRight(words, " ")
}

// returnedOrder returns these positions, or nil for the order of the outputs.
func returnedOrder(b *binding.Binding) (places []int) {
	names := b.ReturnedNames()
	for _, t := range b.OutputSpecs {
		if !IsReturned(b, t) {
			continue
		}
		place := extents.ReturnedAs(b, t, names)
		if place < 0 && !t.Optional {
			place = unnamedReturn(b, names)
		}
		if place < 0 || slices.Contains(places, place) {
			return nil
		}
		places = append(places, place)
	}
	return places
}

// unnamedReturn returns the position of the only returned value that is not named like an output, or -1 if
// there are several.
func unnamedReturn(b *binding.Binding, names []string) int {
	unnamed := -1
	for i := range names {
		if slices.ContainsFunc(b.OutputSpecs,
			func(t op.TensorSpec) bool { return extents.ReturnedAs(b, t, names) == i }) {
			continue
		}
		if unnamed >= 0 {
			return -1
		}
		unnamed = i
	}
	return unnamed
}

// IsReturned reports whether an output is among the values that a function returns.
func IsReturned(b *binding.Binding, t op.TensorSpec) bool {
	return !b.LeftOut(t) && (!t.Optional || returnsStatistic(b, t))
}

// unspoken returns the Python expression of the value of an attribute, "reduction=none", that decides the
// sizes of an output and that no string of the function's lines names, though they name others; "" for
// values that they name.
func unspoken(b *binding.Binding) string {
	for _, t := range b.OutputSpecs {
		a, values := extents.ShapedBy(b, t)
		unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(values)),
			func(value string) bool { return spells(b, b.Function, value, extents.AsksDepth) })
		if b.Has(binding.Attribute, a.Name) && len(unknown) > 0 && len(unknown) < len(values) {
			return fmt.Sprintf("%q + attributes[%q] if attributes[%[2]q] in (%s) else \"\"", a.Name+"=",
				a.Name, quoted(unknown))
		}
	}
	return `""`
}

// mayReturn reports whether a Python function that returns more values than it must may return an output
// among them, which a call shows by its shape and type: indices, a mask, a zero point. Floats may be other
// statistics.
func mayReturn(b *binding.Binding, t op.TensorSpec) bool {
	whole := strings.HasPrefix(t.DType, "int") || strings.HasPrefix(t.DType, "uint") || t.DType == "bool"
	return b.Function.Kind == cfacts.Python && b.Pass == op.Forward && !b.Fills() && !b.Each && t.Optional &&
		whole && !b.LeftOut(t) && !returnsStatistic(b, t)
}

// wanted lists for each of some outputs its name, the shape that the function sees, the full shape, whether
// its second and third size are exchanged, and its dtype.
func wanted(b *binding.Binding, some func(op.TensorSpec) bool) string {
	var words strings.Builder
	for _, t := range b.OutputSpecs {
		if !some(t) {
			continue
		}
		fmt.Fprintf(&words, "(%q, (%s), (%s), %s, %s), ", t.Name, extents.PythonShape(b, t, true),
			extents.PythonShape(b, t, false), pythonBool(extents.GetsExchanged(b, t)), pythonDType(b, t))
	}
	return strings.TrimRight(words.String(), " ")
}

// pythonCall returns the expression that calls the function, once for each of a pair if it takes one tensor.
func pythonCall(b *binding.Binding) string {
	if !b.Each {
		return pythonCallWith(b, b.Args)
	}
	return "(" + pythonCallWith(b, b.Args) + ", " + pythonCallWith(b, second(b)) + ")"
}

// pythonCallWith returns the call with some arguments.
func pythonCallWith(b *binding.Binding, args []binding.Argument) string {
	fn := b.Function
	switch fn.Form {
	case binding.KernelForm:
		return tritonCall(b)
	case binding.AppliedTo:
		return fmt.Sprintf("_MODULE.%s(%s)", fn.Call, strings.Join(byPosition(b, args), ", "))
	case binding.ModuleForm:
		return fmt.Sprintf("%s.call({%s}, {%s})", pythonModule(b), dictionary(b, args, cfacts.InWeight),
			dictionary(b, args, cfacts.InCall))
	case binding.PackedForm:
		data := strings.Join(byPosition(b, args), ", ")
		if fn.Parsed().Packs {
			data = "(" + data + ",)"
		}
		return fmt.Sprintf("_MODULE.%s(%s)", fn.Call, data)
	}
	// A decorator around a function, such as torch.amp.custom_fwd, may require positional tensors.
	var words []string
	named := false
	for _, a := range args {
		value := extents.PythonValue(b, a)
		named = named || value == "" || a.ByName
		switch {
		case value == "":
		case named:
			words = append(words, a.Name+"="+value)
		default:
			words = append(words, value)
		}
	}
	return fmt.Sprintf("_MODULE.%s(%s)", fn.Call, strings.Join(words, ", "))
}

// pythonScaled multiplies the result of a function by the factor, and adds the addend, that the function
// lacks.
func pythonScaled(b *binding.Binding, value string) string {
	if len(b.Unscaled) == 0 {
		return value
	}
	factor, weight, bias := "1.0", "None", "None"
	if b.Doubled {
		factor = "0.5"
	}
	for _, name := range b.Unscaled {
		if name == b.Spec.Own.Factor {
			weight = "in_" + name
		} else {
			bias = "in_" + name
		}
	}
	return fmt.Sprintf("scaled(%s, %s, %s, %s)", value, factor, weight, bias)
}

// byPosition returns the arguments up to the last one that does not keep its default.
func byPosition(b *binding.Binding, args []binding.Argument) []string {
	var words []string
	last := 0
	for _, a := range args {
		value := extents.PythonValue(b, a)
		if value != "" {
			last = len(words) + 1
		} else {
			value = fmt.Sprintf("default(_MODULE.%s, %q)", b.Function.Parsed().Defaults, a.Name)
		}
		words = append(words, value)
	}
	return words[:last]
}

// pythonModule returns the expression of the module created for the sizes of a call.
func pythonModule(b *binding.Binding) string {
	var weights []string
	for _, a := range b.Args {
		if a.Place == cfacts.InWeight && a.Role != binding.Nothing {
			weights = append(weights, a.Path)
		}
	}
	return fmt.Sprintf("Module(_MODULE, %q, {%s}, (%s))", b.Function.Call,
		dictionary(b, b.Args, cfacts.InInit), quoted(weights))
}

// dictionary lists the arguments of a place, by name, as a Python dictionary.
func dictionary(b *binding.Binding, args []binding.Argument, where cfacts.Place) string {
	var words []string
	for _, a := range args {
		value := extents.PythonValue(b, a)
		if a.Place != where || value == "" {
			continue
		}
		name := a.Name
		if where == cfacts.InWeight {
			name = a.Path
		}
		words = append(words, fmt.Sprintf("%q: %s", name, value))
	}
	return strings.Join(words, ", ")
}

// autogradCode returns the backward of a forward that goes through an autograd function: it takes the
// forward's arguments and the upstream gradients.
func autogradCode(b *binding.Binding) string {
	_, positions := b.GradientNames()
	var at strings.Builder
	for _, i := range positions {
		fmt.Fprintf(&at, "%d, ", i)
	}
	n := len(b.InputSpecs)
	var code strings.Builder
	fmt.Fprintf(&code, "_backward = ThroughAutograd(_forward, %d, (%s))\n", n,
		strings.TrimRight(at.String(), " "))
	fmt.Fprintf(&code, "_LEFT_OUT[%q] = {**_LEFT_OUT[%q], %s}\n\n\n", op.Backward, op.Forward,
		b.LeftOutUpstream())
	fmt.Fprintf(&code, "def _refuses_backward(*tensors, **attributes):\n"+
		"    return _refuses_forward(*tensors[:%d], **attributes)\n\n\n", n)
	fmt.Fprintf(&code, "def _differ_backward(*tensors, **attributes):\n"+
		"    return _differ_forward(*tensors[:%d], **attributes)\n\n\n", n)
	return code.String()
}
