package ownfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"triad/internal/op"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/pyfacts"
	"triad/internal/ownfile/shim"
)

// pythonRanks lists the candidates of a Python file, the likely ones first: all fitting ones of a rank are
// judged, a later rank only if none of the earlier fits. A function that another one calls is judged through
// that.
func pythonRanks(list []cfacts.Function) [][]cfacts.Function {
	calls := func(fn cfacts.Function) bool {
		return slices.ContainsFunc(list, func(other cfacts.Function) bool {
			return other.Name != fn.Name && other.Form != binding.KernelForm && other.Call != fn.Call &&
				slices.Contains(other.Parsed().Calls, fn.Call) ||
				fn.Form == binding.AppliedTo && other.Form == binding.AppliedTo && other.Name != fn.Name &&
					other.Parsed().Defaults == fn.Parsed().Defaults && fn.Call != fn.Name
		})
	}
	var ranks [][]cfacts.Function
	for _, rank := range []func(cfacts.Function) bool{
		func(fn cfacts.Function) bool { return fn.Name == "solve" },
		func(fn cfacts.Function) bool { return fn.Name == "custom_kernel" },
		func(fn cfacts.Function) bool { return fn.Name == "ModelNew" },
		func(fn cfacts.Function) bool {
			return fn.Form == binding.PlainForm || fn.Form == binding.AppliedTo && !calls(fn)
		},
		func(fn cfacts.Function) bool { return fn.Form == binding.ModuleForm },
		func(fn cfacts.Function) bool { return fn.Form == binding.KernelForm },
	} {
		some := slices.DeleteFunc(slices.Clone(list), func(fn cfacts.Function) bool { return !rank(fn) })
		if len(some) > 0 {
			ranks = append(ranks, some)
		}
	}
	return ranks
}

// throughAutograd returns the backward of a forward that goes through an autograd function.
func throughAutograd(b *binding.Binding) *binding.Binding {
	if !b.Function.Parsed().Autograd || b.Pass != op.Forward || b.Fills() || b.Spec.Backward == nil {
		return nil
	}
	back := *b
	back.Pass, back.Forward, back.Cases = op.Backward, b, nil
	for _, c := range b.Cases {
		if slices.Contains(b.Spec.PassDTypes(op.Backward), c.DType) {
			back.Cases = append(back.Cases, c)
		}
	}
	if len(back.Cases) == 0 {
		return nil
	}
	return &back
}

// Recomputes reports whether it is the backward of an autograd function, which goes through the forward.
func Recomputes(b *binding.Binding) bool { return b.Forward != nil }

// ReadPython lists the callable top-level definitions of a Python file: functions, autograd functions and
// modules, and Triton kernels that nothing launches. parse returns what Python's parser finds in the text.
func ReadPython(text string, parse pyfacts.Parser) *cfacts.File {
	facts := parse(text)
	f := &cfacts.File{
		Literals: cfacts.Literals(cfacts.PythonComment, text), DTypes: facts.DTypes,
		PythonText: cmp.Or(facts.Text, text), Adds: strings.Contains(text, "atomic_add("),
		Narrow: facts.Widens || cfacts.NamesNarrow(cfacts.PythonComment, text),
		Words:  strings.ToLower(text), Python: *facts,
	}
	if facts.Error != "" {
		f.BadLine = errors.New(facts.Error)
	}
	for _, fact := range facts.Functions {
		f.Functions = append(f.Functions, pythonFunction(fact))
	}
	return f
}

func pythonFunction(fact pyfacts.Function) cfacts.Function {
	fn := cfacts.Function{
		Name: fact.Name, Kind: cfacts.Python, Line: fact.Line, Text: fact.Signature,
		Params:         pythonParams(fact),
		ReturnsTensors: fact.MakesResult && (fact.Form == pyfacts.Plain || fact.Form == pyfacts.Packed),
		PythonFunction: cfacts.PythonFunction{
			Facts: &fact, Form: fact.Form, Call: fact.Call, Code: fact.Code, Kernels: fact.Kernels,
		},
	}
	return fn
}

// pythonParams returns the parameters of a function. A parameter that a launched kernel takes as a pointer is
// a tensor: def solution(A, B, C, N, K) gives no types.
func pythonParams(fn pyfacts.Function) (params []cfacts.Param) {
	for _, fact := range fn.Params {
		p := cfacts.Param{
			Name: fact.Name, Text: fact.Text, Optional: fact.Optional, ByName: fact.ByName, Path: fact.Path,
			InKernels: fact.Called,
		}
		takeType(&p, fact)
		switch {
		case fact.Place == "weight":
			p.Base, p.Pointer, p.Const, p.Untyped, p.Place = "void", true, true, false, cfacts.InWeight
		case fact.Place == "init":
			p.Place = cfacts.InInit
		case fn.Form == pyfacts.Kernel:
			shim.TakeUse(&p, fact)
		case fn.Form == pyfacts.Plain:
			p.Reread = fact.Reread
			if p.Base == "int" && fact.Address {
				p.Base, p.Pointer, p.Address = "void", true, true
			}
		}
		if fact.Tensor && p.Untyped && !p.Optional && p.Place == cfacts.InCall {
			p.Untyped, p.Pointer, p.Base = false, true, "void"
		}
		params = append(params, p)
	}
	return params
}

// takeType takes the type that an annotation or a default gives.
func takeType(p *cfacts.Param, fact pyfacts.Param) {
	switch value := fact.Default; {
	case strings.Contains(fact.Annotation, "Tensor"):
		p.Pointer, p.Base = true, "void"
	case slices.Contains([]string{"int", "float", "bool"}, fact.Annotation):
		p.Base = fact.Annotation
	case value == "True", value == "False":
		p.Base = "bool"
	case strings.Contains(value, ".") && !strings.Contains(value, "torch"):
		p.Base = "float"
	default:
		p.Untyped = true
	}
}

// InlineSources returns the CUDA text that a Python file passes to torch.utils.cpp_extension.load_inline: its
// strings of C++ and CUDA, each on its own lines, and the functions that the call names, bound. Lines are
// those of the Python file. ok is false if it has none; the error is a *op.UsageError if a string is made
// while the file runs.
func InlineSources(facts *pyfacts.File) (code string, ok bool, err error) {
	var b strings.Builder
	b.WriteString("#include <torch/extension.h>")
	at := 1
	for _, s := range facts.Inline {
		if s.Made != "" {
			return "", false, &op.UsageError{Message: fmt.Sprintf("the CUDA source in line %d is made while "+
				"the file runs, by %s: write what it stands for into the string, or into a .cu", s.Line,
				s.Made)}
		}
		b.WriteString(strings.Repeat("\n", max(s.Line-at, 0)) + " " + s.Text)
		at = max(at, s.Line) + strings.Count(s.Text, "\n")
		ok = ok || strings.Contains(s.Text, "__global__")
	}
	b.WriteString("\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {\n")
	words := cfacts.Lex(b.String()).Tokens
	for _, name := range facts.Bound {
		if cfacts.HasTexts(words, name, "(") {
			fmt.Fprintf(&b, "\tm.def(%q, &%s);\n", name, name)
		}
	}
	b.WriteString("}\n")
	return b.String(), ok, nil
}
