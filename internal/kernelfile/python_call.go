package kernelfile

import (
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/cfacts"
)

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
		b.dictionary(b.Args, cfacts.InInit),
		quoted(weights))
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
