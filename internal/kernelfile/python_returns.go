package kernelfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/match"
)

// returnedNames returns the names of the values that a Python function returns, "" for a value that is not a
// name; nil if it does not return several values, the same in every return.
func (b *Binding) returnedNames() []string {
	if b.Pass != op.Forward || b.each || b.fills() || b.Function.Form == appliedTo {
		return nil
	}
	return b.Function.Parsed().Tuple
}

// returnedAs returns the position of an output among the names that a function returns, or -1.
func (b *Binding) returnedAs(t op.TensorSpec, names []string) int {
	place := -1
	for i, name := range names {
		points := func(t op.TensorSpec) int { return match.Score(b.Spec, b.Pass, name, t.Name) }
		if name == "" || points(t) <= match.Weak {
			continue
		}
		other := slices.ContainsFunc(b.outputs, func(o op.TensorSpec) bool {
			return o.Name != t.Name && points(o) >= points(t)
		})
		if other || place >= 0 {
			return -1
		}
		place = i
	}
	return place
}

// returnsStatistic reports whether a function returns, by its name, an optional output: the indices in
// addition to the values. A float output needs the operator's own name: other names denote other statistics
// too. Outputs whose sizes depend on a choice are never taken so.
func (b *Binding) returnsStatistic(t op.TensorSpec) bool {
	choice := func(a op.AttributeSpec) bool { return a.Type != "int" && sizedBy(t, a.Name) }
	if !t.Optional || slices.ContainsFunc(b.Spec.Attributes, choice) {
		return false
	}
	names := b.returnedNames()
	place := b.returnedAs(t, names)
	return place >= 0 && (strings.HasPrefix(t.DType, "int") || match.Snake(names[place]) == t.Name)
}

// ReturnedLogarithms names the optional outputs that a function returns, by their names, and whose values
// other functions have to base 2: those of the exponentials that a softmax divides by.
func (b *Binding) ReturnedLogarithms() []string {
	return namesOf(those(b.outputs, func(t op.TensorSpec) bool {
		return t.Name == "lse" && !b.leftOut(t) && b.returnsStatistic(t)
	}))
}

// sizedBy reports whether the sizes of a tensor name an attribute.
func sizedBy(t op.TensorSpec, attribute string) bool {
	return cfacts.HasTexts(cfacts.Lex(fmt.Sprint(t.Shape)).Tokens, attribute)
}

// spells reports whether a string of the lines of a Python function, or of those that it calls, is a word.
func (b *Binding) spells(fn cfacts.Function, word string, depth int) bool {
	return slices.Contains(fn.Parsed().Strings, word) || depth > 0 &&
		slices.ContainsFunc(b.others, func(o cfacts.Function) bool {
			return o.Name != fn.Name && slices.Contains(fn.Parsed().Calls, o.Call) &&
				b.spells(o, word, depth-1)
		})
}

// returnedPlaces returns the positions of the outputs among the returned values, "(1, 0)", if their names
// give an order other than that of the outputs; else "".
func (b *Binding) returnedPlaces() string {
	words := ""
	for _, place := range b.returnedOrder() {
		words += fmt.Sprintf("%d, ", place)
	}
	return strings.TrimRight(words, " ")
}

// returnedOrder returns these positions, or nil for the order of the outputs.
func (b *Binding) returnedOrder() (places []int) {
	names := b.returnedNames()
	for _, t := range b.outputs {
		if !b.isReturned(t) {
			continue
		}
		place := b.returnedAs(t, names)
		if place < 0 && !t.Optional {
			place = b.unnamedReturn(names)
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
func (b *Binding) unnamedReturn(names []string) int {
	unnamed := -1
	for i := range names {
		if slices.ContainsFunc(b.outputs, func(t op.TensorSpec) bool { return b.returnedAs(t, names) == i }) {
			continue
		}
		if unnamed >= 0 {
			return -1
		}
		unnamed = i
	}
	return unnamed
}

// isReturned reports whether an output is among the values that a function returns.
func (b *Binding) isReturned(t op.TensorSpec) bool {
	return !b.leftOut(t) && (!t.Optional || b.returnsStatistic(t))
}

// unspoken returns the Python expression of the value of an attribute, "reduction=none", that decides the
// sizes of an output and that no string of the function's lines names, though they name others; "" for
// values that they name.
func (b *Binding) unspoken() string {
	for _, t := range b.outputs {
		a, values := b.shapedBy(t)
		unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(values)),
			func(value string) bool { return b.spells(b.Function, value, asksDepth) })
		if b.has(Attribute, a.Name) && len(unknown) > 0 && len(unknown) < len(values) {
			return fmt.Sprintf("%q + attributes[%q] if attributes[%[2]q] in (%s) else \"\"", a.Name+"=",
				a.Name, quoted(unknown))
		}
	}
	return `""`
}

// mayReturn reports whether a Python function that returns more values than it must may return an output
// among them, which a call shows by its shape and type: indices, a mask, a zero point. Floats may be other
// statistics.
func (b *Binding) mayReturn(t op.TensorSpec) bool {
	whole := strings.HasPrefix(t.DType, "int") || strings.HasPrefix(t.DType, "uint") || t.DType == "bool"
	return b.Function.Kind == cfacts.Python && b.Pass == op.Forward && !b.fills() && !b.each && t.Optional &&
		whole && !b.leftOut(t) && !b.returnsStatistic(t)
}

// wanted lists for each of some outputs its name, the shape that the function sees, the full shape, whether
// its second and third size are exchanged, and its dtype.
func (b *Binding) wanted(some func(op.TensorSpec) bool) string {
	var words strings.Builder
	for _, t := range b.outputs {
		if !some(t) {
			continue
		}
		fmt.Fprintf(&words, "(%q, (%s), (%s), %s, %s), ", t.Name, b.pythonShape(t, true),
			b.pythonShape(t, false), pythonBool(b.getsExchanged(t)), b.pythonDType(t))
	}
	return strings.TrimRight(words.String(), " ")
}

// givesDType returns the dtype in which a Python function creates its result whatever it takes, or "" if the
// lines do not give one.
func (b *Binding) givesDType() string {
	if b.Function.Kind != cfacts.Python || b.Function.Form == appliedTo {
		return ""
	}
	follows := len(b.outputs) > 0 && (b.outputs[0].DType == "" || b.outputs[0].DType == "$1")
	if d := b.Function.Parsed().MadeAs; d != "" && follows {
		return d
	}
	return ""
}

// returnsItself reports whether a Python function returns the input itself; it then gets a copy.
func (b *Binding) returnsItself(a Argument) bool {
	return a.Role == Input && b.Function.Kind == cfacts.Python && b.Function.Form == plainForm &&
		b.Pass == op.Forward && slices.Contains(b.Function.Parsed().GivesBack, a.Name)
}

// pythonCall returns the expression that calls the function, once for each of a pair if it takes one tensor.
func (b *Binding) pythonCall() string {
	if !b.each {
		return b.pythonCallWith(b.Args)
	}
	return "(" + b.pythonCallWith(b.Args) + ", " + b.pythonCallWith(b.second()) + ")"
}

// pythonCallWith returns the call with some arguments.
func (b *Binding) pythonCallWith(args []Argument) string {
	fn := b.Function
	switch fn.Form {
	case kernelForm:
		return b.tritonCall()
	case appliedTo:
		return fmt.Sprintf("_MODULE.%s(%s)", fn.Call, strings.Join(b.byPosition(args), ", "))
	case moduleForm:
		return fmt.Sprintf("%s.call({%s}, {%s})", b.pythonModule(), b.dictionary(args, cfacts.InWeight),
			b.dictionary(args, cfacts.InCall))
	case packedForm:
		data := strings.Join(b.byPosition(args), ", ")
		if fn.Parsed().Packs {
			data = "(" + data + ",)"
		}
		return fmt.Sprintf("_MODULE.%s(%s)", fn.Call, data)
	}
	// A decorator around a function, such as torch.amp.custom_fwd, may require positional tensors.
	var words []string
	named := false
	for _, a := range args {
		value := b.pythonValue(a)
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

// pythonValue returns the Python value passed for a parameter, "" if it keeps its default.
func (b *Binding) pythonValue(a Argument) string {
	pointer := ""
	if a.Address {
		pointer = ".data_ptr()"
	}
	switch a.Role {
	case Input:
		if b.returnsItself(a) {
			return pythonTensor(a) + ".clone()" + pointer
		}
		return pythonTensor(a) + pointer
	case Output:
		return "out_" + a.Target + pointer
	case Size:
		if strings.Contains(a.Text, "uple") || strings.HasSuffix(a.Name, "_shape") {
			return "(" + pythonSize(a.Target) + ",)"
		}
		if a.Share > 0 {
			return fmt.Sprintf("factor(%s, %d)", pythonSize(a.Target), a.Share)
		}
		return pythonSize(a.Target)
	case Constant:
		if (a.Pointer || a.Untyped) && a.Number == "" {
			return "torch.zeros_like(in_" + b.Spec.Own.Factor + ")"
		}
		return constantWord(a)
	case Attribute:
		return b.attributePython(a)
	}
	return ""
}

// attributePython returns the Python value passed for an attribute. For a switch that replaces an enumeration
// with a value none, it is whether the value is another one.
func (b *Binding) attributePython(a Argument) string {
	t := b.Spec.Attributes[a.Index]
	if t.Type == "enum" && a.Base == "bool" && slices.Contains(t.Values, "none") {
		return fmt.Sprintf("attributes[%q] != %q", a.Target, "none")
	}
	return fmt.Sprintf("attributes[%q]", a.Target)
}

// pythonScaled multiplies the result of a function by the factor, and adds the addend, that the function
// lacks.
func (b *Binding) pythonScaled(value string) string {
	if len(b.unscaled) == 0 {
		return value
	}
	factor, weight, bias := "1.0", "None", "None"
	if b.doubled {
		factor = "0.5"
	}
	for _, name := range b.unscaled {
		if name == b.Spec.Own.Factor {
			weight = "in_" + name
		} else {
			bias = "in_" + name
		}
	}
	return fmt.Sprintf("scaled(%s, %s, %s, %s)", value, factor, weight, bias)
}

// byPosition returns the arguments up to the last one that does not keep its default.
func (b *Binding) byPosition(args []Argument) []string {
	var words []string
	last := 0
	for _, a := range args {
		value := b.pythonValue(a)
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
func (b *Binding) pythonModule() string {
	var weights []string
	for _, a := range b.Args {
		if a.Place == cfacts.InWeight && a.Role != Nothing {
			weights = append(weights, a.Path)
		}
	}
	return fmt.Sprintf("Module(_MODULE, %q, {%s}, (%s))", b.Function.Call,
		b.dictionary(b.Args, cfacts.InInit), quoted(weights))
}

// dictionary lists the arguments of a place, by name, as a Python dictionary.
func (b *Binding) dictionary(args []Argument, where cfacts.Place) string {
	var words []string
	for _, a := range args {
		value := b.pythonValue(a)
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
func (b *Binding) autogradCode() string {
	_, positions := b.gradientNames()
	var at strings.Builder
	for _, i := range positions {
		fmt.Fprintf(&at, "%d, ", i)
	}
	n := len(b.inputs)
	var code strings.Builder
	fmt.Fprintf(&code, "_backward = ThroughAutograd(_forward, %d, (%s))\n", n,
		strings.TrimRight(at.String(), " "))
	fmt.Fprintf(&code, "_LEFT_OUT[%q] = {**_LEFT_OUT[%q], %s}\n\n\n", op.Backward, op.Forward,
		b.leftOutUpstream())
	fmt.Fprintf(&code, "def _refuses_backward(*tensors, **attributes):\n"+
		"    return _refuses_forward(*tensors[:%d], **attributes)\n\n\n", n)
	fmt.Fprintf(&code, "def _differ_backward(*tensors, **attributes):\n"+
		"    return _differ_forward(*tensors[:%d], **attributes)\n\n\n", n)
	return code.String()
}
