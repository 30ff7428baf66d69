package shim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/extents"
)

// PythonShim writes the operator file that calls the functions of a user's file: path is that file, name the
// implementation's.
func PythonShim(path, name string, bindings []*binding.Binding) string {
	var text strings.Builder
	fmt.Fprintf(&text, pythonHead, strconv.Quote(path))
	var passes, contracts, dtypes, varying, perhaps []string
	fields := map[op.Pass]string{op.Forward: "outputs", op.Backward: "gradients"}
	recomputes := ""
	for _, b := range bindings {
		names := GivenNames(b)
		if b.Forward != nil {
			names, _ = b.GradientNames()
			recomputes = "recomputes=True, "
			text.WriteString(autogradCode(b))
		} else {
			text.WriteString(pythonCode(b))
		}
		passes = append(passes, fmt.Sprintf("%v=_%v, %s=(%s)", b.Pass, b.Pass, fields[b.Pass], quoted(names)))
		perhaps = append(perhaps, binding.NamesOf(
			binding.Those(b.OutputSpecs, func(t op.TensorSpec) bool { return mayReturn(b, t) }))...)
		if b.Varies {
			varying = append(varying, GivenNames(b)...)
		}
		for _, c := range b.Cases {
			contracts = append(contracts, fmt.Sprintf("(%q, %q): %q", b.Pass.String(), c.DType,
				b.Contract(c.DType)))
			if b.Pass == bindings[0].Pass {
				dtypes = append(dtypes, c.DType)
			}
		}
	}
	fmt.Fprintf(&text, "IMPLEMENTATIONS = [Implementation(%q, %s, %sdtypes=(%s), contract={%s}, accepts="+
		"_accepts, constraint=left_out(%q), nondeterministic=(%s), perhaps=(%s))]\n__file__ = _PATH\n",
		name, strings.Join(passes, ", "), recomputes, quoted(dtypes), strings.Join(contracts, ", "),
		Constraint(bindings[0]), quoted(varying), quoted(perhaps))
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

// GivenNames returns the outputs that the function provides: those it has a parameter for, or, if it returns
// them, as many as it must.
func GivenNames(b *binding.Binding) []string {
	return binding.NamesOf(binding.Those(b.OutputSpecs, func(t op.TensorSpec) bool {
		return b.LeftOut(t) || b.Fills() && isGiven(b, t) || !b.Fills() && IsReturned(b, t)
	}))
}

// isGiven reports whether the function has a parameter for an output or is called a second time for it.
func isGiven(b *binding.Binding, t op.TensorSpec) bool {
	return b.Has(binding.Output, t.Name) || b.Each && b.Without[t.Name]
}

// pythonCode returns the function that the worker calls for a pass, and the one with the cases it is not
// judged on.
func pythonCode(b *binding.Binding) string {
	var code strings.Builder
	tensors := binding.EachOf(b.InputSpecs, func(t op.TensorSpec) string { return "in_" + t.Name })
	sizes := pythonSizes(b)
	fmt.Fprintf(&code, "def _%v(%s, **attributes):\n%s%s", b.Pass, strings.Join(tensors, ", "), sizes,
		pythonOutputs(b))
	for _, t := range b.InputSpecs {
		if view := extents.PythonShape(b, t, true); view != extents.PythonShape(b, t, false) ||
			extents.GetsExchanged(b, t) {
			fmt.Fprintf(&code, "    in_%s = in_%s%s\n", t.Name, t.Name, extents.PythonView(b, t, view))
		}
	}
	call := pythonCall(b)
	if b.Fills() && b.Function.Form != binding.PackedForm { // what custom_kernel(data) returns is judged
		var outs []string
		for _, t := range b.OutputSpecs {
			if view := extents.PythonShape(b, t, false); !isGiven(b, t) && !b.LeftOut(t) {
				continue
			} else if extents.GetsExchanged(b, t) {
				outs = append(outs, fmt.Sprintf("exchanged(out_%s, (%s))", t.Name, view))
			} else if view != extents.PythonShape(b, t, true) {
				outs = append(outs, fmt.Sprintf("out_%s.reshape((%s))", t.Name, view))
			} else {
				outs = append(outs, "out_"+t.Name)
			}
			if len(b.Unscaled) > 0 && t.Name == required1(b) {
				outs[len(outs)-1] = pythonScaled(b, outs[len(outs)-1])
			}
		}
		result := strings.Join(outs, ", ")
		fmt.Fprintf(&code, "    with called():\n        value = %s\n    return given((%s), %q, value)\n\n\n",
			call, result, b.Function.Name)
	} else {
		fmt.Fprintf(&code, "    with called():\n        value = %s\n", call)
		given := fmt.Sprintf("fitted(given(value, %[1]q), %[1]q, (%s), (%s), in_%s.device, %s, %s, (%s), %s)",
			b.Function.Name, wanted(b, func(t op.TensorSpec) bool { return IsReturned(b, t) }),
			ReturnedPlaces(b), b.InputSpecs[0].Name,
			pythonBool(b.Pass == op.Forward), pythonBool(b.Pass != op.Forward || len(b.Options.DTypes) > 0),
			wanted(b, func(t op.TensorSpec) bool { return mayReturn(b, t) }), unspoken(b))
		fmt.Fprintf(&code, "    return joined(%s, {%s})\n\n\n", pythonScaled(b, given), leftOutReturns(b))
	}
	fmt.Fprintf(&code, "_LEFT_OUT[%q] = {%s}\n\n\n", b.Pass.String(), b.LeftOutInputs())
	fmt.Fprintf(&code, "def _refuses_%v(%s, **attributes):\n%s", b.Pass, strings.Join(tensors, ", "), sizes)
	for _, c := range pythonConditions(b) {
		fmt.Fprintf(&code, "    if not (%s):\n        return %q\n", c.Code, c.Sentence)
	}
	last := "None"
	if b.Function.Form == binding.ModuleForm {
		last = pythonModule(b) + ".has_others()"
	}
	fmt.Fprintf(&code, "    return %s\n\n\n", last)
	code.WriteString(pythonAlike(b, tensors))
	return code.String()
}

func pythonBool(is bool) string { return map[bool]string{true: "True", false: "False"}[is] }

// pythonAlike returns the function that reports which sizes differ that a PyTorch function may require to be
// equal.
func pythonAlike(b *binding.Binding, tensors []string) string {
	alike := b.Spec.Grouped()
	other := pythonDefaults(b)
	if len(alike) == 0 && other == "" {
		return ""
	}
	return fmt.Sprintf("def _differ_%v(%s, **attributes):\n%s%s"+
		"    return %q if len({%s}) > 1 else \"\"\n\n\n", b.Pass, strings.Join(tensors, ", "),
		pythonSizes(b), other, strings.Join(alike, " and ")+" differ",
		strings.Join(binding.EachOf(alike, binding.PythonName), ", "))
}

// pythonDefaults returns the lines that report a size other than its default, such as that of a table with
// more rows than are used.
func pythonDefaults(b *binding.Binding) string {
	var code strings.Builder
	for _, d := range b.Spec.DefaultsKnownBy(b.InputSpecs) {
		fmt.Fprintf(&code, "    if %s != %s:\n        return %q\n", binding.PythonName(d.Name),
			extents.PythonExpression(d.Default), d.Name+" is not "+d.Default)
	}
	return code.String()
}

// pythonOutputs creates the outputs that the function receives.
func pythonOutputs(b *binding.Binding) string {
	var code strings.Builder
	for _, t := range b.OutputSpecs {
		if in := b.InPlaceOf(t.Name); in != "" {
			view := ""
			if seen := extents.PythonShape(b, t, true); seen != extents.PythonShape(b, t, false) {
				view = extents.PythonView(b, t, seen)
			}
			fmt.Fprintf(&code, "    out_%s = in_%s.clone()%s\n", t.Name, in, view)
		} else if isGiven(b, t) || b.LeftOut(t) {
			made := "empty"
			if b.Varies { // it adds with atomics to zeros of its caller
				made = "zeros"
			}
			fmt.Fprintf(&code, "    out_%s = torch.%s((%s), dtype=%s, device=in_%s.device)\n", t.Name, made,
				extents.PythonShape(b, t, !b.LeftOut(t)), pythonDType(b, t), b.InputSpecs[0].Name)
		}
	}
	return code.String()
}

// pythonSizes defines a variable for every dim that a tensor shows, in lines of a function.
func pythonSizes(b *binding.Binding) string {
	var lines strings.Builder
	add := func(format string, values ...any) { fmt.Fprintf(&lines, "    "+format+"\n", values...) }
	for _, a := range b.Spec.Attributes { // of an enum its number, where sizes of outputs depend on it
		asked := slices.ContainsFunc(b.OutputSpecs, func(t op.TensorSpec) bool { return sizedBy(t, a.Name) })
		if a.Type == "enum" && asked {
			add("%s = (%s).index(attributes[%q])", binding.PythonName(a.Name), quoted(a.Values), a.Name)
		} else if a.Type == "int" { // it may be a size of an output, and hold one that no input shows
			add("%s = attributes[%q]", strings.Join(a.Stored(binding.PythonName), " = "), a.Name)
		}
	}
	for _, d := range b.Spec.Dims {
		if shown, ok := op.ShownBy(d.Name, b.InputSpecs, nil); ok {
			add("%s = in_%s.shape[%d] * %d", binding.PythonName(d.Name), b.InputSpecs[shown.Tensor].Name,
				shown.Axis, shown.Times)
		} else if from, ok := op.FollowsFrom(d.Name, b.InputSpecs); ok {
			over := "1"
			if from.Over != "" {
				over = binding.PythonName(from.Over)
			}
			add("%s = (in_%s.shape[%d] - %d) // max(%s, 1)", binding.PythonName(d.Name),
				b.InputSpecs[from.Tensor].Name, from.Axis, from.Less, over)
		}
	}
	return lines.String()
}

func pythonDType(b *binding.Binding, t op.TensorSpec) string {
	switch {
	case t.DType == "" || t.DType == "$1":
		return "in_" + b.InputSpecs[0].Name + ".dtype"
	case strings.HasPrefix(t.DType, "$"):
		return fmt.Sprintf("_DTYPES[attributes[%q]]", t.DType[1:])
	}
	return fmt.Sprintf("_DTYPES[%q]", t.DType)
}

func pythonConditions(b *binding.Binding) []binding.Condition {
	var all []binding.Condition
	add := func(code, sentence string, values ...any) {
		all = append(all, binding.Condition{Code: code, Sentence: fmt.Sprintf(sentence, values...)})
	}
	for _, d := range b.Spec.Dims {
		if n, fixed := b.Fixed(d.Name); fixed && (d.Default == "" || extents.Hides(b, d.Name)) {
			add(fmt.Sprintf("%s == %d", binding.PythonName(d.Name), n), "it is judged with --dims %s=%d",
				d.Name, n)
		} else if extents.GoesWithout(b, d) ||
			b.Function.Form == binding.KernelForm && d.Default == "1" && !b.GivesSize(d.Name) {
			add(binding.PythonName(d.Name)+" == 1", "%s has no parameter for %s: it is judged with %[2]s = 1",
				b.Function.Name, d.Name)
		}
	}
	for _, a := range b.Args {
		if a.Role == binding.Size && strings.Contains(a.Target, "=") {
			dims := binding.DimsOf(a.Target)
			for _, d := range dims[1:] {
				add(binding.PythonName(dims[0])+" == "+binding.PythonName(d),
					"%s has one parameter for %s: it is judged "+
						"where they are equal", b.Function.Name, strings.Join(dims, " and "))
			}
		}
	}
	if sizes := extents.SquareSizes(b); b.Options.Square {
		for _, d := range sizes[1:] {
			add(binding.PythonName(sizes[0])+" == "+binding.PythonName(d), "it takes square matrices alone")
		}
	}
	all = slices.Concat(all, extents.HalvedSizes(b), extents.SomeTarget(b), b.WhereRowsSee(),
		extents.WhereFactorsAre(b))
	for _, a := range b.Spec.Attributes {
		if b.Has(binding.Attribute, a.Name) {
			continue
		}
		code, value := b.AttributeValue(a)
		if code == "" {
			continue
		}
		test := fmt.Sprintf("attributes[%q] == %q", a.Name, value)
		switch a.Type {
		case "bool":
			test = fmt.Sprintf("attributes[%q] == %s", a.Name, pythonBool(value == "true"))
		case "int", "float":
			test = fmt.Sprintf("abs(attributes[%q] - (%s)) <= 1e-6 * abs(%s) + 1e-30", a.Name,
				extents.PythonExpression(value), extents.PythonExpression(value))
		}
		all = append(all, binding.Condition{Code: test, Sentence: b.JudgedWith(a, value)})
	}
	return all
}
