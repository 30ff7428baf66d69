package kernelfile

import (
	"fmt"
	"go/scanner"
	gotoken "go/token"
	"maps"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
)

// PythonShim writes the operator file that calls the functions of a user's file: path is that file, name the
// implementation's.
func PythonShim(path, name string, bindings []*Binding) string {
	var text strings.Builder
	fmt.Fprintf(&text, pythonHead, strconv.Quote(path))
	var passes, contracts, dtypes, varying, perhaps []string
	fields := map[op.Pass]string{op.Forward: "outputs", op.Backward: "gradients"}
	recomputes := ""
	for _, b := range bindings {
		names := b.givenNames()
		if b.forward != nil {
			names, _ = b.gradientNames()
			recomputes = "recomputes=True, "
			text.WriteString(b.autogradCode())
		} else {
			text.WriteString(b.pythonCode())
		}
		passes = append(passes, fmt.Sprintf("%v=_%v, %s=(%s)", b.Pass, b.Pass, fields[b.Pass],
			quoted(names)))
		perhaps = append(perhaps, namesOf(those(b.outputs, b.mayReturn))...)
		if b.varies {
			varying = append(varying, b.givenNames()...)
		}
		for _, c := range b.Cases {
			contracts = append(contracts, fmt.Sprintf("(%q, %q): %q", b.Pass.String(), c.DType,
				b.contract(c.DType)))
			if b.Pass == bindings[0].Pass {
				dtypes = append(dtypes, c.DType)
			}
		}
	}
	fmt.Fprintf(&text, "IMPLEMENTATIONS = [Implementation(%q, %s, %sdtypes=(%s), contract={%s}, accepts="+
		"_accepts, constraint=left_out(%q), nondeterministic=(%s), perhaps=(%s))]\n__file__ = _PATH\n",
		name, strings.Join(passes, ", "), recomputes, quoted(dtypes), strings.Join(contracts, ", "),
		bindings[0].Constraint(), quoted(varying), quoted(perhaps))
	return text.String()
}

const pythonHead = `"""Written by triad to call the functions of the file below."""
import functools

import torch

from implementation import Implementation
from own_file import Module, ThroughAutograd, called, default, factor, left_out, load, power_of_2, uses_triton
from returned_values import ReturnedOtherwise, exchanged, fitted, given, joined, scaled

_PATH = %s
_MODULE = load(_PATH)
_LEFT_OUT = {}  # by pass, the inputs without an element, which the function has no parameter for
_TRITON = uses_triton(_MODULE)
_DTYPES = {"fp64": torch.float64, "fp32": torch.float32, "fp16": torch.float16,
           "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn,
           "e5m2": torch.float8_e5m2, "int64": torch.int64, "int32": torch.int32, "int8": torch.int8,
           "uint8": torch.uint8, "bool": torch.bool, "uint32": torch.uint32,
           "e2m1x2": torch.float4_e2m1fn_x2}


@functools.cache
def _raises(direction, kinds, attributes):
    """Why a function does not take tensors that it need not take, "" where it does: strided or empty ones,
    and a size that another one may be a multiple of. It is called on ones: a function is not judged where it
    does not take sizes or strides, and cannot choose its values."""
    tensors = []
    for shape, stride, dtype, device in kinds:
        extent = 1 + sum((n - 1) * s for n, s in zip(shape, stride)) if all(shape) else 0
        tensors.append(torch.ones(extent, dtype=dtype, device=device).as_strided(shape, stride))
    try:
        with torch.no_grad():
            {"forward": _forward, "backward": _backward}[direction](*tensors, **dict(attributes))
    except ReturnedOtherwise as e:
        return str(e)
    except Exception as e:
        where = "where " + _differ(direction, *tensors, **dict(attributes))
        if any(t.numel() == 0 for t in tensors):
            where = "on empty tensors"
        elif any(not t.is_contiguous() for t in tensors):
            where = "on strided tensors"
        return f"it raises {type(e).__name__} {where}: {e}"
    return ""


def _accepts(direction, *tensors, **attributes):
    """Why a call is not the function's to answer. Triton kernels of one's own may take every tensor for
    dense, save an upstream gradient that autograd hands them: nobody chooses how that lies."""
    chosen = tensors[:getattr(_backward, "inputs", None)] if direction == "backward" else tensors
    if _TRITON and any(not t.is_contiguous() for t in chosen):
        return "Triton files added with --add are judged on contiguous tensors"
    if _TRITON and any(t.numel() == 0 for i, t in enumerate(tensors) if i not in _LEFT_OUT[direction]):
        return "Triton files added with --add are not judged on empty tensors"
    if why := {"forward": _refuses_forward, "backward": _refuses_backward}[direction](*tensors, **attributes):
        return why
    empty = any(t.numel() == 0 for i, t in enumerate(tensors) if i not in _LEFT_OUT[direction])
    if empty or any(not t.is_contiguous() for t in chosen) or _differ(direction, *tensors, **attributes):
        kinds = tuple((tuple(t.shape), tuple(t.stride()), t.dtype, t.device) for t in tensors)
        if why := _raises(direction, kinds, tuple(attributes.items())):
            return why
    return None


def _differ(direction, *tensors, **attributes):
    """Which sizes differ that a function may want to be equal, "" for none."""
    return {"forward": _differ_forward, "backward": _differ_backward}[direction](*tensors, **attributes)


def _absent(*tensors, **attributes):
    raise NotImplementedError("the file has no function for this pass")


_forward = _backward = _absent
_refuses_forward = _refuses_backward = _differ_forward = _differ_backward = lambda *_, **__: ""


`

func quoted(names []string) string {
	var text strings.Builder
	for _, n := range names {
		fmt.Fprintf(&text, "%q, ", n)
	}
	return strings.TrimRight(text.String(), " ")
}

// givenNames returns the outputs that the function provides: those it has a parameter for, or, if it returns
// them, as many as it must.
func (b *Binding) givenNames() []string {
	return namesOf(those(b.outputs, func(t op.TensorSpec) bool {
		return b.leftOut(t) || b.fills() && b.isGiven(t) || !b.fills() && b.isReturned(t)
	}))
}

// isGiven reports whether the function has a parameter for an output or is called a second time for it.
func (b *Binding) isGiven(t op.TensorSpec) bool {
	return b.has(Output, t.Name) || b.each && b.without[t.Name]
}

// fills reports whether outputs are parameters of the function.
func (b *Binding) fills() bool {
	return slices.ContainsFunc(b.Args, func(a Argument) bool { return a.Role == Output })
}

// pythonCode returns the function that the worker calls for a pass, and the one with the cases it is not
// judged on.
func (b *Binding) pythonCode() string {
	var code strings.Builder
	tensors := eachOf(b.inputs, func(t op.TensorSpec) string { return "in_" + t.Name })
	sizes := b.pythonSizes()
	fmt.Fprintf(&code, "def _%v(%s, **attributes):\n%s%s", b.Pass, strings.Join(tensors, ", "), sizes,
		b.pythonOutputs())
	for _, t := range b.inputs {
		if view := b.pythonShape(t, true); view != b.pythonShape(t, false) || b.getsExchanged(t) {
			fmt.Fprintf(&code, "    in_%s = in_%s%s\n", t.Name, t.Name, b.pythonView(t, view))
		}
	}
	call := b.pythonCall()
	if b.fills() && b.Function.Form != packedForm { // what custom_kernel(data) returns is judged
		var outs []string
		for _, t := range b.outputs {
			if view := b.pythonShape(t, false); !b.isGiven(t) && !b.leftOut(t) {
				continue
			} else if b.getsExchanged(t) {
				outs = append(outs, fmt.Sprintf("exchanged(out_%s, (%s))", t.Name, view))
			} else if view != b.pythonShape(t, true) {
				outs = append(outs, fmt.Sprintf("out_%s.reshape((%s))", t.Name, view))
			} else {
				outs = append(outs, "out_"+t.Name)
			}
			if len(b.unscaled) > 0 && t.Name == b.required1() {
				outs[len(outs)-1] = b.pythonScaled(outs[len(outs)-1])
			}
		}
		result := strings.Join(outs, ", ")
		fmt.Fprintf(&code, "    with called():\n        value = %s\n    return given((%s), %q, value)\n\n\n",
			call, result, b.Function.Name)
	} else {
		fmt.Fprintf(&code, "    with called():\n        value = %s\n", call)
		given := fmt.Sprintf("fitted(given(value, %[1]q), %[1]q, (%s), (%s), in_%s.device, %s, %s, (%s), %s)",
			b.Function.Name, b.wanted(b.isReturned), b.returnedPlaces(), b.inputs[0].Name,
			pythonBool(b.Pass == op.Forward), pythonBool(b.Pass != op.Forward || len(b.Options.DTypes) > 0),
			b.wanted(b.mayReturn), b.unspoken())
		fmt.Fprintf(&code, "    return joined(%s, {%s})\n\n\n", b.pythonScaled(given), b.leftOutReturns())
	}
	fmt.Fprintf(&code, "_LEFT_OUT[%q] = {%s}\n\n\n", b.Pass.String(), b.leftOutInputs())
	fmt.Fprintf(&code, "def _refuses_%v(%s, **attributes):\n%s", b.Pass, strings.Join(tensors, ", "), sizes)
	for _, c := range b.pythonConditions() {
		fmt.Fprintf(&code, "    if not (%s):\n        return %q\n", c.code, c.sentence)
	}
	last := "None"
	if b.Function.Form == moduleForm {
		last = b.pythonModule() + ".has_others()"
	}
	fmt.Fprintf(&code, "    return %s\n\n\n", last)
	code.WriteString(b.pythonAlike(tensors))
	return code.String()
}

func pythonBool(is bool) string { return map[bool]string{true: "True", false: "False"}[is] }

// pythonAlike returns the function that reports which sizes differ that a PyTorch function may require to be
// equal.
func (b *Binding) pythonAlike(tensors []string) string {
	alike := b.Spec.Grouped()
	other := b.pythonDefaults()
	if len(alike) == 0 && other == "" {
		return ""
	}
	return fmt.Sprintf("def _differ_%v(%s, **attributes):\n%s%s"+
		"    return %q if len({%s}) > 1 else \"\"\n\n\n", b.Pass, strings.Join(tensors, ", "),
		b.pythonSizes(), other, strings.Join(alike, " and ")+" differ",
		strings.Join(eachOf(alike, pythonName), ", "))
}

// pythonDefaults returns the lines that report a size other than its default, such as that of a table with
// more rows than are used.
func (b *Binding) pythonDefaults() string {
	var code strings.Builder
	for _, d := range b.Spec.Dims {
		if _, shown := op.ShownBy(d.Name, b.inputs, nil); d.Default == "" || d.Default == "1" || !shown {
			continue
		}
		fmt.Fprintf(&code, "    if %s != %s:\n        return %q\n", pythonName(d.Name),
			pythonExpression(d.Default), d.Name+" is not "+d.Default)
	}
	return code.String()
}

// pythonOutputs creates the outputs that the function receives.
func (b *Binding) pythonOutputs() string {
	var code strings.Builder
	for _, t := range b.outputs {
		if in := b.inPlaceOf(t.Name); in != "" {
			view := ""
			if seen := b.pythonShape(t, true); seen != b.pythonShape(t, false) {
				view = fmt.Sprintf(".reshape((%s))", seen)
			}
			fmt.Fprintf(&code, "    out_%s = in_%s.clone()%s\n", t.Name, in, view)
		} else if b.isGiven(t) || b.leftOut(t) {
			made := "empty"
			if b.varies { // it adds with atomics to zeros of its caller
				made = "zeros"
			}
			fmt.Fprintf(&code, "    out_%s = torch.%s((%s), dtype=%s, device=in_%s.device)\n", t.Name, made,
				b.pythonShape(t, !b.leftOut(t)), b.pythonDType(t), b.inputs[0].Name)
		}
	}
	return code.String()
}

// pythonSizes defines a variable for every dim that a tensor shows, in lines of a function.
func (b *Binding) pythonSizes() string {
	var lines strings.Builder
	add := func(format string, values ...any) { fmt.Fprintf(&lines, "    "+format+"\n", values...) }
	for _, a := range b.Spec.Attributes { // of an enum its number, where sizes of outputs depend on it
		asked := slices.ContainsFunc(b.outputs, func(t op.TensorSpec) bool { return sizedBy(t, a.Name) })
		if a.Type == "enum" && asked {
			add("%s = (%s).index(attributes[%q])", pythonName(a.Name), quoted(a.Values), a.Name)
		} else if a.Type == "int" { // it may be a size of an output, and hold one that no input shows
			add("%s = attributes[%q]", strings.Join(a.Stored(pythonName), " = "), a.Name)
		}
	}
	for _, d := range b.Spec.Dims {
		if shown, ok := op.ShownBy(d.Name, b.inputs, nil); ok {
			add("%s = in_%s.shape[%d] * %d", pythonName(d.Name), b.inputs[shown.Tensor].Name, shown.Axis,
				shown.Times)
		} else if from, ok := op.FollowsFrom(d.Name, b.inputs); ok {
			over := "1"
			if from.Over != "" {
				over = pythonName(from.Over)
			}
			add("%s = (in_%s.shape[%d] - %d) // max(%s, 1)", pythonName(d.Name), b.inputs[from.Tensor].Name,
				from.Axis, from.Less, over)
		}
	}
	return lines.String()
}

func pythonName(dim string) string { return "dim_" + dim }

func pythonSize(target string) string {
	dims := dimsOf(target)
	if !strings.Contains(target, "*") {
		dims = dims[:1]
	}
	for i := range dims {
		if dims[i][0] < '0' || dims[i][0] > '9' { // of twice a size
			dims[i] = pythonName(dims[i])
		}
	}
	return strings.Join(dims, " * ")
}

// pythonShape returns a tensor's shape; with seen it is the one that the function gets, without sizes of 1
// that have no parameter.
func (b *Binding) pythonShape(t op.TensorSpec, seen bool) string {
	var words strings.Builder
	if a, values := b.shapedBy(t); values != nil && b.Options.Attrs[a.Name] == "" && b.named[a.Name] == "" {
		for _, value := range slices.Sorted(maps.Keys(values)) {
			t.Shape = values[value]
			fmt.Fprintf(&words, "%q: (%s), ", value, b.pythonShape(t, seen))
		}
		return fmt.Sprintf("*{%s}[attributes[%q]],", strings.TrimSuffix(words.String(), ", "), a.Name)
	}
	list := b.shape(t)
	if seen && b.flat() {
		return strings.Join(eachOf(plainSizes(list), pythonExpression), " * ") + ","
	}
	if seen && b.getsExchanged(t) {
		list = exchangedSizes(list, b.bshd)
	}
	if seen {
		words.WriteString(strings.Repeat("1, ", b.leading(list)))
	}
	for _, size := range list {
		if name, _ := size.(string); seen && b.hides(name) {
			continue
		}
		word := pythonExpression(fmt.Sprint(size))
		if seen && len(list) == 1 && b.hasFactors(fmt.Sprint(size)) {
			word = fmt.Sprintf("factor(%s, 1), factor(%[1]s, 2)", word)
		}
		if name := b.switchOf(t); name != "" {
			word = strings.ReplaceAll(word, pythonName(name), fmt.Sprintf("int(attributes[%q])", name))
		}
		words.WriteString(word + ", ")
	}
	return strings.TrimRight(words.String(), " ")
}

func (b *Binding) pythonDType(t op.TensorSpec) string {
	switch {
	case t.DType == "" || t.DType == "$1":
		return "in_" + b.inputs[0].Name + ".dtype"
	case strings.HasPrefix(t.DType, "$"):
		return fmt.Sprintf("_DTYPES[attributes[%q]]", t.DType[1:])
	}
	return fmt.Sprintf("_DTYPES[%q]", t.DType)
}

// pythonExpression converts an expression of a spec to Python: integers, or floats if it contains sqrt.
func pythonExpression(text string) string {
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
			out.WriteString(pythonName(word))
		case kind == gotoken.QUO && !float:
			out.WriteString(" // ")
		case word != "":
			out.WriteString(word)
		default:
			out.WriteString(" " + kind.String() + " ")
		}
	}
}

func (b *Binding) pythonConditions() []condition {
	var all []condition
	add := func(code, sentence string, values ...any) {
		all = append(all, condition{code, fmt.Sprintf(sentence, values...)})
	}
	for _, d := range b.Spec.Dims {
		if n, fixed := b.fixed(d.Name); fixed && (d.Default == "" || b.hides(d.Name)) {
			add(fmt.Sprintf("%s == %d", pythonName(d.Name), n), "it is judged with --dims %s=%d", d.Name, n)
		} else if b.goesWithout(d) ||
			b.Function.Form == kernelForm && d.Default == "1" && !b.givesSize(d.Name) {
			add(pythonName(d.Name)+" == 1", "%s has no parameter for %s: it is judged with %[2]s = 1",
				b.Function.Name, d.Name)
		}
	}
	for _, a := range b.Args {
		if a.Role == Size && strings.Contains(a.Target, "=") {
			dims := dimsOf(a.Target)
			for _, d := range dims[1:] {
				add(pythonName(dims[0])+" == "+pythonName(d), "%s has one parameter for %s: it is judged "+
					"where they are equal", b.Function.Name, strings.Join(dims, " and "))
			}
		}
	}
	if sizes := b.squareSizes(); b.Options.Square {
		for _, d := range sizes[1:] {
			add(pythonName(sizes[0])+" == "+pythonName(d), "it takes square matrices alone")
		}
	}
	all = slices.Concat(all, b.halvedSizes(), b.someTarget(), b.whereRowsSee(), b.whereFactorsAre())
	for _, a := range b.Spec.Attributes {
		if b.has(Attribute, a.Name) {
			continue
		}
		code, value := b.attributeValue(a)
		if code == "" {
			continue
		}
		test := fmt.Sprintf("attributes[%q] == %q", a.Name, value)
		switch a.Type {
		case "bool":
			test = fmt.Sprintf("attributes[%q] == %s", a.Name, pythonBool(value == "true"))
		case "int", "float":
			test = fmt.Sprintf("abs(attributes[%q] - (%s)) <= 1e-6 * abs(%s) + 1e-30", a.Name,
				pythonExpression(value), pythonExpression(value))
		}
		all = append(all, condition{test, b.judgedWith(a, value)})
	}
	return all
}
