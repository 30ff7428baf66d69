package extents

import (
	"fmt"
	"go/scanner"
	gotoken "go/token"
	"maps"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/layout"
	"triad/internal/ownfile/match"
)

// pythonTensor returns the tensor that a Python function gets for an input, in the layout in which it takes
// it.
func pythonTensor(a binding.Argument) string {
	switch a.Adapter {
	case layout.Packed:
		list := "(in_" + strings.Join(a.Parts, ", in_") + ")"
		switch a.Lies {
		case layout.WholeTensors:
			return "torch.cat(" + list + ", dim=0)"
		}
		return "torch.cat(" + list + ", dim=-1)"
	case layout.Wide:
		return fmt.Sprintf("torch.cat((in_%[1]s, in_%[1]s), dim=-1)", a.Target)
	}
	return "in_" + a.Target
}

// ReturnedAs returns the position of an output among the names that a function returns, or -1.
func ReturnedAs(b *binding.Binding, t op.TensorSpec, names []string) int {
	place := -1
	for i, name := range names {
		points := func(t op.TensorSpec) int { return match.Score(b.Spec, b.Pass, name, t.Name) }
		if name == "" || points(t) <= match.Weak {
			continue
		}
		other := slices.ContainsFunc(b.OutputSpecs, func(o op.TensorSpec) bool {
			return o.Name != t.Name && points(o) >= points(t)
		})
		if other || place >= 0 {
			return -1
		}
		place = i
	}
	return place
}

// PythonValue returns the Python value passed for a parameter, "" if it keeps its default.
func PythonValue(b *binding.Binding, a binding.Argument) string {
	pointer := ""
	if a.Address {
		pointer = ".data_ptr()"
	}
	switch a.Role {
	case binding.Input:
		if b.ReturnsItself(a) {
			return pythonTensor(a) + ".clone()" + pointer
		}
		return pythonTensor(a) + pointer
	case binding.Output:
		return "out_" + a.Target + pointer
	case binding.Size:
		if strings.Contains(a.Text, "uple") || strings.HasSuffix(a.Name, "_shape") {
			return "(" + binding.PythonSize(a.Target) + ",)"
		}
		if a.Share > 0 {
			return fmt.Sprintf("factor(%s, %d)", binding.PythonSize(a.Target), a.Share)
		}
		return binding.PythonSize(a.Target)
	case binding.Constant:
		if (a.Pointer || a.Untyped) && a.Number == "" {
			return "torch.zeros_like(in_" + b.Spec.Own.Factor + ")"
		}
		return binding.ConstantWord(a)
	case binding.Attribute:
		return b.AttributePython(a)
	}
	return ""
}

// PythonShape returns a tensor's shape; with seen it is the one that the function gets, without sizes of 1
// that have no parameter.
func PythonShape(b *binding.Binding, t op.TensorSpec, seen bool) string {
	var words strings.Builder
	if a, values := ShapedBy(b, t); values != nil && b.Options.Attrs[a.Name] == "" && b.Named[a.Name] == "" {
		for _, value := range slices.Sorted(maps.Keys(values)) {
			t.Shape = values[value]
			fmt.Fprintf(&words, "%q: (%s), ", value, PythonShape(b, t, seen))
		}
		return fmt.Sprintf("*{%s}[attributes[%q]],", strings.TrimSuffix(words.String(), ", "), a.Name)
	}
	list := Shape(b, t)
	if seen && b.Flat() {
		return strings.Join(binding.EachOf(binding.PlainSizes(list), PythonExpression), " * ") + ","
	}
	if seen && GetsExchanged(b, t) {
		list = ExchangedSizes(list, b.Bshd)
	}
	if seen {
		words.WriteString(strings.Repeat("1, ", Leading(b, list)))
	}
	for _, size := range list {
		if name, _ := size.(string); seen && Hides(b, name) {
			continue
		}
		word := PythonExpression(fmt.Sprint(size))
		if seen && len(list) == 1 && HasFactors(b, fmt.Sprint(size)) {
			word = fmt.Sprintf("factor(%s, 1), factor(%[1]s, 2)", word)
		}
		if name := b.SwitchOf(t); name != "" {
			word = strings.ReplaceAll(word, binding.PythonName(name),
				fmt.Sprintf("int(attributes[%q])", name))
		}
		words.WriteString(word + ", ")
	}
	return strings.TrimRight(words.String(), " ")
}

// PythonExpression converts an expression of a spec to Python: integers, or floats if it contains sqrt.
func PythonExpression(text string) string {
	var s scanner.Scanner
	files := gotoken.NewFileSet()
	s.Init(files.AddFile("", files.Base(), len(text)), []byte(text), nil, 0)
	float := strings.Contains(text, "sqrt")
	var out strings.Builder
	for {
		_, kind, word := s.Scan()
		switch {
		case kind == gotoken.EOF:
			return out.String()
		case kind == gotoken.SEMICOLON:
		case kind == gotoken.IDENT && word == "ceildiv":
			out.WriteString("(lambda a, b: -(-a // b))")
		case kind == gotoken.IDENT && (word == "min" || word == "max"):
			out.WriteString(word)
		case kind == gotoken.IDENT && word == "sqrt":
			out.WriteString("(lambda a: a ** 0.5)")
		case kind == gotoken.IDENT:
			out.WriteString(binding.PythonName(word))
		case kind == gotoken.QUO && !float:
			out.WriteString(" // ")
		case word != "":
			out.WriteString(word)
		default:
			out.WriteString(" " + kind.String() + " ")
		}
	}
}
