package kernelfile

import (
	"regexp"
	"slices"
	"strings"
)

var definition = regexp.MustCompile(`(?m)^def[ \t]+(\w+)[ \t]*\(`)

// ReadPython lists what a Python file defines at its top and can be called: functions, autograd functions and
// modules, and kernels of Triton that nothing launches.
func ReadPython(text string) *File {
	text = withoutGuards(text)
	f := &File{
		literals: literals(pythonComment, text), dtypes: askedDTypes(text),
		Adds: strings.Contains(text, "atomic_add("), text: text,
		narrow: namesNarrow(pythonComment, text), words: strings.ToLower(text),
	}
	for _, at := range definition.FindAllStringSubmatchIndex(text, -1) {
		name := text[at[2]:at[3]]
		if strings.HasPrefix(name, "_") || decoratedKernel(text[:at[0]]) {
			continue
		}
		fn := Function{
			Name: name, Kind: Python, Line: 1 + strings.Count(text[:at[0]], "\n"),
			Params: pythonParams(argumentList(text[at[1]:])),
			python: python{call: name, text: pythonBlock(text, at[0])},
		}
		fn.Text = "def " + name + "(" + joinParams(fn.Params) + ")"
		fn.readAddresses(text)
		fn.markReread(text)
		fn.returns = fn.givesItsOwn()
		unpacked(&fn)
		f.Functions = append(f.Functions, fn)
	}
	f.readClasses(text)
	kernels := kernelsIn(text)
	for i := range f.Functions {
		fn := &f.Functions[i]
		fn.kernels = kernelsLaunched(fn.text, kernels)
		fn.markTensors(kernels)
	}
	f.readKernels(text)
	return f
}

// decoratedKernel says whether the decorators right above a definition make it a kernel of Triton.
func decoratedKernel(before string) bool {
	before = strings.TrimRight(before, "\n")
	for before != "" { // from its end: a file may have thousands of definitions
		begin := strings.LastIndexByte(before, '\n') + 1
		line := before[begin:]
		switch {
		case strings.HasPrefix(line, "@"):
			if strings.Contains(line, "jit") {
				return true
			}
		case strings.HasPrefix(line, PythonSign):
		case strings.TrimSpace(line) == "", !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, ")") &&
			!strings.HasPrefix(line, "]"):
			return false
		}
		before = before[:max(begin-1, 0)]
	}
	return false
}

// argumentList cuts what follows an opening parenthesis at its commas, up to the closing one, without
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

// pythonParam reads one parameter; false for *, / and what takes any number of arguments.
func pythonParam(text string) (Param, bool) {
	text = strings.Join(strings.Fields(text), " ")
	declared, value, optional := strings.Cut(text, "=")
	name, annotation, _ := strings.Cut(declared, ":")
	name, annotation = strings.TrimSpace(name), strings.TrimSpace(annotation)
	if name == "" || name == "/" || strings.HasPrefix(name, "*") {
		return Param{}, false
	}
	p := Param{Name: name, Text: text, Optional: optional}
	value = strings.TrimSpace(value)
	switch {
	case strings.Contains(annotation, "Tensor"):
		p.Pointer, p.Base = true, "void"
	case annotation == "int":
		p.Base = "int"
	case annotation == "float":
		p.Base = "float"
	case annotation == "bool", value == "True", value == "False":
		p.Base = "bool"
	case strings.ContainsAny(value, ".") && !strings.Contains(value, "torch"):
		p.Base = "float"
	default:
		p.Untyped = true
	}
	return p, true
}

var (
	castPointer = regexp.MustCompile(`pointer_type\(\s*tl\.(\w+)`)
	assertDType = regexp.MustCompile(`(?m)^\s*assert\b.*\.dtype\s*(?:==|in)\s*(.*)$`)
	raiseDType  = regexp.MustCompile(
		`(?m)^[ \t]*if\b(.*\.dtype\s*(?:!=|not in)\s*.*):[ \t]*\n?[ \t]*raise\b`)
	eachCondition = regexp.MustCompile(`\b(?:or|and)\b`)
	dtypeOfTorch  = regexp.MustCompile(`torch\.(\w+)`)
)

// torchDTypes are our names of torch's and Triton's dtypes.
var torchDTypes = map[string]string{
	"float64": "fp64", "double": "fp64", "float32": "fp32", "float": "fp32",
	"float16": "fp16", "half": "fp16", "bfloat16": "bf16",
}

// askedDTypes are the dtypes that a file's lines ask for: pointers that are cast to one, and asserts.
func askedDTypes(text string) []string {
	text = pythonComment.ReplaceAllString(text, "")
	var words []string
	for _, m := range castPointer.FindAllStringSubmatch(text, -1) {
		words = append(words, m[1])
	}
	for _, m := range slices.Concat(assertDType.FindAllStringSubmatch(text, -1), raisesDType(text)) {
		for _, d := range dtypeOfTorch.FindAllStringSubmatch(m[1], -1) {
			words = append(words, d[1])
		}
	}
	var all []string
	for _, w := range words {
		if d := torchDTypes[w]; d != "" && !slices.Contains(all, d) {
			all = append(all, d)
		}
	}
	return all
}

// raisesDType matches the conditions under which lines raise for a dtype alone, "if x.dtype != torch.float16:
// raise ValueError". One that asks for something else besides says nothing.
func raisesDType(text string) (all [][]string) {
	for _, m := range raiseDType.FindAllStringSubmatch(text, -1) {
		parts := eachCondition.Split(m[1], -1)
		other := func(part string) bool {
			return !strings.Contains(part, ".dtype") || !strings.Contains(part, "!=") &&
				!strings.Contains(part, "not in")
		}
		if !slices.ContainsFunc(parts, other) {
			all = append(all, m)
		}
	}
	return all
}
