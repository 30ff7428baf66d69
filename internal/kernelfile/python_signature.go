package kernelfile

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"triad/internal/ownfile/pyfacts"
)

// ReadPython lists the callable top-level definitions of a Python file: functions, autograd functions and
// modules, and Triton kernels that nothing launches. parse returns what Python's parser finds in the text.
func ReadPython(text string, parse pyfacts.Parser) *File {
	facts := parse(text)
	f := &File{
		literals: literals(pythonComment, text), dtypes: facts.DTypes, text: cmp.Or(facts.Text, text),
		Adds: strings.Contains(text, "atomic_add("), narrow: namesNarrow(pythonComment, text),
		words: strings.ToLower(text), facts: *facts,
	}
	if facts.Error != "" {
		f.badLine = errors.New(facts.Error)
	}
	for _, fact := range facts.Functions {
		f.Functions = append(f.Functions, pythonFunction(fact))
	}
	return f
}

func pythonFunction(fact pyfacts.Function) Function {
	fn := Function{
		Name: fact.Name, Kind: Python, Line: fact.Line, Text: fact.Signature, Params: pythonParams(fact),
		returns: fact.MakesResult && (fact.Form == pyfacts.Plain || fact.Form == pyfacts.Packed),
		python: python{
			facts: &fact, form: fact.Form, call: fact.Call, text: fact.Code,
			kernels: fact.Kernels,
		},
	}
	return fn
}

// parsed returns the facts of a Python function; they are empty for any other function.
func (fn *Function) parsed() *pyfacts.Function {
	if fn.facts == nil {
		return &pyfacts.Function{}
	}
	return fn.facts
}

// factsOf returns what the lines of a function say of a parameter.
func (fn *Function) factsOf(name string) pyfacts.Param {
	for _, p := range fn.parsed().Params {
		if p.Name == name {
			return p
		}
	}
	return pyfacts.Param{}
}

// pythonParams returns the parameters of a function. A parameter that a launched kernel takes as a pointer is
// a tensor: def solution(A, B, C, N, K) gives no types.
func pythonParams(fn pyfacts.Function) (params []Param) {
	for _, fact := range fn.Params {
		p := Param{
			Name: fact.Name, Text: fact.Text, Optional: fact.Optional, byName: fact.ByName, path: fact.Path,
			called: fact.Called,
		}
		p.takeType(fact)
		switch {
		case fact.Place == "weight":
			p.Base, p.Pointer, p.Const, p.Untyped, p.place = "void", true, true, false, inWeight
		case fact.Place == "init":
			p.place = inInit
		case fn.Form == pyfacts.Kernel:
			p.takeUse(fact)
		case fn.Form == pyfacts.Plain:
			p.reread = fact.Reread
			if p.Base == "int" && fact.Address {
				p.Base, p.Pointer, p.address = "void", true, true
			}
		}
		if fact.Tensor && p.Untyped && !p.Optional && p.place == inCall {
			p.Untyped, p.Pointer, p.Base = false, true, "void"
		}
		params = append(params, p)
	}
	return params
}

// takeType takes the type that an annotation or a default gives.
func (p *Param) takeType(fact pyfacts.Param) {
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

// argumentList splits the text after an opening parenthesis at its commas, up to the closing one, without
// comments.
func argumentList(text string) []string {
	var parts []string
	var word strings.Builder
	depth := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case c == '#':
			for i < len(text) && text[i] != '\n' {
				i++
			}
			continue
		case c == '"' || c == '\'':
			end := endOfLiteral(text, i)
			word.WriteString(text[i:end])
			i = end - 1
			continue
		case strings.IndexByte("([{", c) >= 0:
			depth++
		case c == ')' && depth == 0:
			return append(parts, word.String())
		case strings.IndexByte(")]}", c) >= 0:
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, word.String())
			word.Reset()
			continue
		}
		word.WriteByte(c)
	}
	return append(parts, word.String())
}
