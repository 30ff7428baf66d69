package cfacts

import (
	"slices"
	"strings"

	"triad/internal/declaration"
	"triad/internal/ownfile/observed"
	"triad/internal/ownfile/pyfacts"
)

// Kind is the way in which a function is called.
type Kind uint8

// Host functions launch kernels themselves; kernels are __global__ functions that we launch.
const (
	Host Kind = iota
	Kernel
	Python // a function of a Python file
)

// Param is one parameter of a function.
type Param struct {
	Name    string
	Text    string // as written
	Base    string // the type without const, pointer and reference, aliases resolved: "float", "unsigned int"
	Pointer bool
	Const   bool // what is pointed to may not be written
	Writing      // what the file's lines are seen to do with what is pointed to
	// Of a Python function: it has a default, or nothing says what it is.
	Optional, Untyped bool
	ByName            bool // of a Python function: it is handed over by its name alone
	Place             Place
	Path              string   // of a weight: its name in the module, norm.weight
	TorchTensor       bool     // a torch::Tensor
	Address           bool     // of a Python function: the address of a tensor, as an integer
	InKernels         []string // of a Python function: what the kernels that it launches call it
}

// isLibraryCall reports whether a token is the name of a function by which one of CUDA's libraries computes.
func isLibraryCall(name string) bool {
	return slices.ContainsFunc(libraries, func(library string) bool {
		rest, is := strings.CutPrefix(name, library)
		return is && rest != "" && rest[0] >= 'A' && rest[0] <= 'Z'
	})
}

var libraries = []string{"cublas", "cudnn", "cufft", "cusparse", "cusolver"}

// Function is a function definition that could be judged.
type Function struct {
	Name         string // with its namespaces
	Kind         Kind
	ExternC      bool
	Template     []TemplateParam
	Params       []Param
	Line         int
	Text         string // the signature as written, on one line
	Launches     bool   // the body has a <<< >>>, or it hands a kernel to a function that has
	Launcher     bool   // it launches a kernel that it is handed
	CallsLibrary bool   // it calls a library that launches kernels, such as cuBLAS
	Body         []Token
	LaunchBounds string // the first argument of __launch_bounds__, "" where there is none
	PythonFunction
	NumberType     string             // the type of the number that it returns
	ReturnsTensors bool               // it returns its outputs as torch::Tensor
	BoundName      string             // the name under which Python calls it
	Refuses        bool               // it returns a bool, and false for what it does not support
	Declared       []declaration.Line // above it
}

// PythonFunction holds further facts about a definition in a Python file.
type PythonFunction struct {
	Facts     *pyfacts.Function
	Form      string
	Call      string // what is called: softmax, Softmax.apply
	Code      string // Facts.Code
	Kernels   string // Facts.Kernels
	givesBack string // the tensor that it was handed and returns
}

// TemplateParam is one parameter of a template.
type TemplateParam struct {
	Name    string
	Type    bool // typename or class
	Default string
}

// File holds the definitions of a CUDA file.
type File struct {
	Functions []Function
	Helpers   []Function // those that are called by others alone, such as __device__ functions
	Main      bool       // it has a main() of its own
	Shares    bool       // it uses __shared__ memory
	Waits     bool       // it has a barrier
	Adds      bool       // it adds with atomics, whose order is that in which threads arrive
	source
	aliases  map[string]string
	Literals []float64 // numbers outside of comments
	Doubles  []float64 // of a CUDA file: those that are doubles, and others in fp32
	// of a Python file whose lines ask for them: the dtypes that it takes; none where it asks for none
	DTypes         []string
	PythonText     string            // of a Python file
	Python         pyfacts.File      // of a Python file
	TorchExtension bool              // it includes torch/extension.h
	Narrow         bool              // it names a type of 16 bits, or the dtype of its tensors
	calls          map[string][]call // where the file calls a function or launches a kernel, by name
	Words          string            // all of it and of what it includes, in small letters
	BadLine        error             // a line above a function that is none

	run func() *observed.Run // what main() does
}

// ReadCUDA lists the functions of a CUDA file; defined are the names that flags
// define, as NAME or NAME=VALUE.
func ReadCUDA(text string, defined ...string) *File {
	text = strings.TrimPrefix(text, "\ufeff") // the mark of UTF-8, as editors put it
	f := &File{
		source: Lex(text, defined...), aliases: map[string]string{}, Literals: Literals(cComment, text),
		Narrow: NamesNarrow(cComment, text), Doubles: doubles(text), Words: strings.ToLower(text),
	}
	f.calls = f.callsByName()
	f.scope(0, len(f.Tokens), nil, false)
	if len(f.aliases) > 0 { // a header that stands behind the file may name the types before it
		f.Functions, f.Helpers = nil, nil
		f.scope(0, len(f.Tokens), nil, false)
	}
	f.readFunctions(text)
	for _, t := range f.Tokens {
		f.Shares = f.Shares || t.Text == "__shared__"
		f.Waits = f.Waits || strings.Contains(t.Text, "sync")
		f.Adds = f.Adds || strings.HasPrefix(t.Text, "atomicAdd")
	}
	return f
}

// readFunctions reads what the lines of the functions that were found say of their parameters.
func (f *File) readFunctions(text string) {
	f.markWritten()
	f.passLaunchesOn()
	f.readExtension(text)
	for i := range f.Functions {
		if fn := &f.Functions[i]; fn.ReturnsTensors {
			fn.givesBack = fn.returnedParameter()
			fn.ReturnsTensors = fn.givesBack == ""
		}
	}
}

// LaunchLines lists the lines with a <<<.
func (f *File) LaunchLines() []int {
	var lines []int
	for _, t := range f.Tokens {
		if t.Text == "<<<" && !slices.Contains(lines, t.Line) {
			lines = append(lines, t.Line)
		}
	}
	return lines
}

// TakesShared reports whether a kernel takes shared memory at its launch: extern __shared__.
func (f *File) TakesShared() bool {
	return HasTexts(f.Tokens, "extern", "__shared__")
}

// scope reads the declarations of a namespace or of an extern "C" block.
func (f *File) scope(from, to int, namespaces []string, externC bool) {
	start := from
	for i := from; i < to; i++ {
		switch f.Tokens[i].Text {
		case ";":
			f.alias(start, i)
			start = i + 1
		case "(", "[":
			i = Closing(f.Tokens[:to], i)
		case "{":
			end := Closing(f.Tokens[:to], i)
			head := resultFirst(f.Tokens[start:i])
			switch {
			case len(head) >= 1 && head[0].Text == "namespace":
				inner := slices.Clone(namespaces)
				for _, t := range head[1:] { // namespace a::b
					if t.IsName() {
						inner = append(inner, t.Text)
					}
				}
				f.scope(i+1, end, inner, externC)
				start = end + 1
			case len(head) == 2 && head[0].Text == "extern" && head[1].Text == `"C"`:
				f.scope(i+1, end, namespaces, true)
				start = end + 1
			case f.function(head, f.Tokens[min(i+1, end):end], namespaces, externC):
				start = end + 1
			case isFunctionHead(head):
				start = end + 1
			} // else a type or an initialiser: its declaration ends with ;
			i = end
		}
	}
}

// isFunctionHead reports whether a declaration before "{" ends as a function's does.
func isFunctionHead(head []Token) bool {
	return len(head) > 0 && slices.Contains([]string{")", "const", "noexcept", "override"},
		head[len(head)-1].Text)
}

// alias keeps "typedef T name;", "using name = T;" and "const int name = number, other = number;".
func (f *File) alias(from, to int) {
	words := f.Tokens[from:to]
	switch {
	case len(words) >= 3 && words[0].Text == "typedef":
		f.aliases[words[len(words)-1].Text] = Join(words[1 : len(words)-1])
	case len(words) >= 4 && words[0].Text == "using" && words[2].Text == "=":
		f.aliases[words[1].Text] = Join(words[3:])
	case HasTexts(words, "const") || HasTexts(words, "constexpr"):
		for _, part := range SplitAtCommas(words) {
			i := slices.IndexFunc(part, func(t Token) bool { return t.Text == "=" || t.Text == "{" })
			if i > 0 {
				f.Defines[part[i-1].Text] = strings.TrimSuffix(Join(part[i+1:]), " }")
			}
		}
	}
}

// function keeps a function definition; false where the tokens before "{" are none.
func (f *File) function(head, body []Token, namespaces []string, externC bool) bool {
	if !isFunctionHead(head) {
		return false
	}
	fn := Function{Body: body}
	head = f.template(&fn, head)
	open := parameterList(head)
	if open < 1 || !head[open-1].IsName() {
		return false
	}
	name := head[open-1]
	before := head[:open-1]
	fn.Name, fn.Line = strings.Join(append(slices.Clone(namespaces), name.Text), "::"), name.Line
	if fn.Name == "main" {
		f.Main = true
		return true
	}
	skip := f.readWords(&fn, before)
	fn.ExternC = fn.ExternC || externC
	fn.Params = f.params(head[open+1 : Closing(head, open)])
	if skip { // a __device__ function, or one that cannot be named from outside
		f.Helpers = append(f.Helpers, fn)
		return true
	}
	fn.NumberType = f.numberType(before)
	fn.Refuses = fn.Kind == Host && returnsFalse(before, body)
	fn.ReturnsTensors = HasTexts(before, "Tensor")
	var params []string
	for _, p := range fn.Params {
		params = append(params, p.Text)
	}
	fn.Text = Join(trimWords(before)) + " " + name.Text + "(" + strings.Join(params, ", ") + ")"
	for _, t := range body {
		fn.Launches = fn.Launches || t.Text == "<<<" || strings.HasPrefix(t.Text, "cudaLaunchKernel")
		fn.CallsLibrary = fn.CallsLibrary || isLibraryCall(t.Text)
	}
	f.Functions = append(f.Functions, fn)
	return true
}

// readWords reads the words before a function's name; skip means that the host cannot call it.
func (f *File) readWords(fn *Function, before []Token) (skip bool) {
	for i, t := range before {
		switch t.Text {
		case "__global__":
			fn.Kind = Kernel
		case "__device__", "operator", "~":
			skip = true
		case "::": // else it is of the type that is returned
			skip = skip || i == len(before)-1
		case `"C"`:
			fn.ExternC = i > 0 && before[i-1].Text == "extern"
		case "__launch_bounds__":
			var words []Token
			for _, w := range before[min(i+2, len(before)):] {
				if w.Text == "," || w.Text == ")" {
					break
				}
				words = append(words, w)
			}
			fn.LaunchBounds = Join(words)
		}
	}
	return skip
}

// template takes "template <...>" off the front of a declaration.
func (f *File) template(fn *Function, head []Token) []Token {
	if len(head) < 2 || head[0].Text != "template" || head[1].Text != "<" {
		return head
	}
	end := closingAngle(head, 1)
	for _, part := range SplitAtCommas(head[2:end]) {
		value := ""
		if i := slices.IndexFunc(part, func(t Token) bool { return t.Text == "=" }); i >= 0 {
			value, part = Join(part[i+1:]), part[:i]
		}
		if len(part) >= 2 {
			kind := part[0].Text
			fn.Template = append(fn.Template, TemplateParam{
				Name: part[len(part)-1].Text, Type: kind == "typename" || kind == "class", Default: value,
			})
		}
	}
	return head[min(end+1, len(head)):]
}

// closingAngle returns the index of the > that closes the < at i; the number of tokens without one.
func closingAngle(tokens []Token, i int) int {
	for depth := 0; i < len(tokens); i++ {
		switch tokens[i].Text {
		case "<":
			depth++
		case ">":
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(tokens)
}

// parameterList returns the index at which a function's parameters open: that of the last parenthesis that
// opens at depth 0.
func parameterList(head []Token) int {
	open, depth := -1, 0
	for i, t := range head {
		switch t.Text {
		case "(":
			if depth == 0 {
				open = i
			}
			depth++
		case ")":
			depth--
		}
	}
	return open
}

// params reads a parameter list.
func (f *File) params(tokens []Token) []Param {
	var list []Param
	for _, part := range SplitAtCommas(tokens) {
		if len(part) == 0 || len(part) == 1 && part[0].Text == "void" {
			continue
		}
		list = append(list, f.param(part))
	}
	return list
}

// qualifiers lists words of a parameter that say nothing about its type.
var qualifiers = strings.Fields("const volatile restrict __restrict__ __restrict __grid_constant__ struct " +
	"register RESTRICT")

// builtin lists the words that make up C++'s own types.
var builtin = strings.Fields("unsigned signed int long short char float double bool void")

func (f *File) param(part []Token) Param {
	if i := slices.IndexFunc(part, func(t Token) bool { return t.Text == "=" }); i >= 0 {
		part = part[:i]
	}
	p := Param{Text: Join(part)}
	var words []string
	for _, t := range part {
		switch {
		case t.Text == "*" || t.Text == "[":
			p.Pointer = true
		case t.Text == "const" && !p.Pointer:
			p.Const = true
		case t.IsName() && !slices.Contains(qualifiers, t.Text):
			words = append(words, t.Text)
		}
	}
	if n := len(words); n > 1 && !slices.Contains(builtin, words[n-1]) &&
		!strings.HasSuffix(p.Text, words[n-1]+" *") {
		p.Name, words = words[n-1], words[:n-1]
	}
	p.Base = f.Resolve(strings.Join(words, " "))
	if strings.HasPrefix(p.Base, "const ") {
		p.Const, p.Base = true, strings.TrimPrefix(p.Base, "const ")
	}
	if strings.HasSuffix(p.Base, " *") {
		p.Pointer, p.Base = true, strings.TrimSuffix(p.Base, " *")
	}
	if optional, is := torchTensor(p.Base); is {
		p.TorchTensor, p.Pointer, p.Const, p.Base, p.Optional = true, true, false, "void", optional
	}
	return p
}

// Resolve replaces a name by the type that typedef, using or #define gave it.
func (f *File) Resolve(name string) string {
	name = strings.TrimPrefix(name, "std ")
	for range 8 {
		next, ok := f.aliases[name]
		if !ok {
			next, ok = f.Defines[name]
		}
		if !ok || next == name {
			break
		}
		name = strings.TrimPrefix(next, "std ")
	}
	return name
}

// SplitAtCommas cuts tokens at the commas of depth 0.
func SplitAtCommas(tokens []Token) [][]Token {
	var parts [][]Token
	depth, start := 0, 0
	for i, t := range tokens {
		switch t.Text {
		case "(", "[", "{", "<":
			depth++
		case ")", "]", "}", ">":
			depth--
		case ",":
			if depth == 0 {
				parts = append(parts, tokens[start:i])
				start = i + 1
			}
		}
	}
	return append(parts, tokens[start:])
}

// Join writes tokens with the usual blanks.
func Join(tokens []Token) string {
	var b strings.Builder
	for i, t := range tokens {
		tight := i == 0 || strings.Contains("([,;)]::", t.Text) && t.Text != "(" ||
			slices.Contains([]string{"(", "[", "::", "<"}, tokens[i-1].Text) ||
			slices.Contains([]string{"<", ">", "[", "::"}, t.Text) || tokens[i-1].Text == "*" && t.IsName()
		if !tight {
			b.WriteByte(' ')
		}
		b.WriteString(t.Text)
	}
	return b.String()
}

// trimWords removes the words of a declaration that are not part of the signature.
func trimWords(words []Token) []Token {
	return slices.DeleteFunc(slices.Clone(words), func(t Token) bool {
		return slices.Contains([]string{"static", "inline", "extern", `"C"`, "__host__"}, t.Text)
	})
}

// Place is the destination of an argument of a Python function.
type Place uint8

// The places of arguments.
const (
	InCall   Place = iota
	InWeight       // a parameter of the module
	InInit         // an argument of its __init__
	InTile         // a constexpr of a kernel
	InStride       // a stride that a kernel takes
)

// Parsed returns the facts of a Python function; they are empty for any other function.
func (fn *Function) Parsed() *pyfacts.Function {
	if fn.Facts == nil {
		return &pyfacts.Function{}
	}
	return fn.Facts
}

// FactsOf returns what the lines of a function say of a parameter.
func (fn *Function) FactsOf(name string) pyfacts.Param {
	for _, p := range fn.Parsed().Params {
		if p.Name == name {
			return p
		}
	}
	return pyfacts.Param{}
}
