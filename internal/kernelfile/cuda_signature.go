package kernelfile

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/declaration"
	"triad/internal/ownfile/observed"
	"triad/internal/ownfile/pyfacts"
)

// Kind says how a function is called.
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
	writing      // what the file's lines are seen to do with what is pointed to
	// Of a Python function: it has a default, or nothing says what it is.
	Optional, Untyped bool
	byName            bool // of a Python function: it is handed over by its name alone
	place             place
	path              string   // of a weight: its name in the module, norm.weight
	tensor            bool     // a torch::Tensor
	address           bool     // of a Python function: the address of a tensor, as an integer
	called            []string // of a Python function: what the kernels that it launches call it
}

// libraryCall matches the names of functions by which CUDA's libraries compute.
var libraryCall = regexp.MustCompile(`^(?:cublas|cudnn|cufft|cusparse|cusolver)[A-Z]\w*$`)

// Function is a function definition that could be judged.
type Function struct {
	Name     string // with its namespaces
	Kind     Kind
	ExternC  bool
	Template []TemplateParam
	Params   []Param
	Line     int
	Text     string // the signature as written, on one line
	Launches bool   // the body has a <<< >>>, or it hands a kernel to a function that has
	launcher bool   // it launches a kernel that it is handed
	library  bool   // it calls a library that launches kernels, such as cuBLAS
	body     []token
	bounds   string // the first argument of __launch_bounds__, "" where there is none
	python
	number  string             // the type of the number that it returns
	returns bool               // it returns its outputs as torch::Tensor
	bound   string             // the name under which Python calls it
	refuses bool               // it returns a bool, and false for what it does not support
	lines   []declaration.Line // above it
}

// python holds further facts about a definition in a Python file.
type python struct {
	facts     *pyfacts.Function
	form      string
	call      string // what is called: softmax, Softmax.apply
	text      string // said.Code
	kernels   string // said.Kernels
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
	helpers   []Function // those that are called by others alone, such as __device__ functions
	Main      bool       // it has a main() of its own
	Shares    bool       // it uses __shared__ memory
	Waits     bool       // it has a barrier
	Adds      bool       // it adds with atomics, whose order is that in which threads arrive
	source
	declared []string // functions without their lines
	aliases  map[string]string
	literals []float64 // numbers outside of comments
	doubles  []float64 // of a CUDA file: those that are doubles, and others in fp32
	// of a Python file whose lines ask for them: the dtypes that it takes; none where it asks for none
	dtypes    []string
	text      string              // of a Python file
	facts     pyfacts.File        // of a Python file
	extension bool                // it includes torch/extension.h
	narrow    bool                // it names a type of 16 bits, or the dtype of its tensors
	calls     map[string][]callOf // where the file calls a function or launches a kernel, by name
	words     string              // all of it and of what it includes, in small letters
	badLine   error               // a line above a function that is none

	run func() *observed.Run // what main() does
}

// ReadCUDA lists the functions of a CUDA file; defined are the names that flags
// define, as NAME or NAME=VALUE.
func ReadCUDA(text string, defined ...string) *File {
	text = strings.TrimPrefix(text, "\ufeff") // the mark of UTF-8, as editors put it
	f := &File{
		source: lex(text, defined...), aliases: map[string]string{}, literals: literals(cComment, text),
		narrow: namesNarrow(cComment, text), doubles: doubles(text), words: strings.ToLower(text),
	}
	f.calls = f.callsByName()
	f.scope(0, len(f.tokens), nil, false)
	if len(f.aliases) > 0 { // a header that stands behind the file may name the types before it
		f.Functions, f.helpers, f.declared = nil, nil, nil
		f.scope(0, len(f.tokens), nil, false)
	}
	f.readFunctions(text)
	for _, t := range f.tokens {
		f.Shares = f.Shares || t.text == "__shared__"
		f.Waits = f.Waits || strings.Contains(t.text, "sync")
		f.Adds = f.Adds || strings.HasPrefix(t.text, "atomicAdd")
	}
	return f
}

// readFunctions reads what the lines of the functions that were found say of their parameters.
func (f *File) readFunctions(text string) {
	f.markWritten()
	f.passLaunchesOn()
	f.readExtension(text)
	for i := range f.Functions {
		if fn := &f.Functions[i]; fn.returns {
			fn.givesBack = fn.returnedParameter()
			fn.returns = fn.givesBack == ""
		}
	}
}

// LaunchLines lists the lines with a <<<.
func (f *File) LaunchLines() []int {
	var lines []int
	for _, t := range f.tokens {
		if t.text == "<<<" && !slices.Contains(lines, t.line) {
			lines = append(lines, t.line)
		}
	}
	return lines
}

// TakesShared reports whether a kernel takes shared memory at its launch: extern __shared__.
func (f *File) TakesShared() bool {
	return hasTexts(f.tokens, "extern", "__shared__")
}

// scope reads the declarations of a namespace or of an extern "C" block.
func (f *File) scope(from, to int, namespaces []string, externC bool) {
	start := from
	for i := from; i < to; i++ {
		switch f.tokens[i].text {
		case ";":
			f.alias(start, i)
			f.declares(f.tokens[start:i])
			start = i + 1
		case "(", "[":
			i = closing(f.tokens[:to], i)
		case "{":
			end := closing(f.tokens[:to], i)
			head := resultFirst(f.tokens[start:i])
			switch {
			case len(head) >= 1 && head[0].text == "namespace":
				inner := slices.Clone(namespaces)
				for _, t := range head[1:] { // namespace a::b
					if t.isName() {
						inner = append(inner, t.text)
					}
				}
				f.scope(i+1, end, inner, externC)
				start = end + 1
			case len(head) == 2 && head[0].text == "extern" && head[1].text == `"C"`:
				f.scope(i+1, end, namespaces, true)
				start = end + 1
			case f.function(head, f.tokens[min(i+1, end):end], namespaces, externC):
				start = end + 1
			case isFunctionHead(head):
				start = end + 1
			} // else a type or an initialiser: its declaration ends with ;
			i = end
		}
	}
}

// isFunctionHead reports whether a declaration before "{" ends as a function's does.
func isFunctionHead(head []token) bool {
	return len(head) > 0 && slices.Contains([]string{")", "const", "noexcept", "override"},
		head[len(head)-1].text)
}

// alias keeps "typedef T name;", "using name = T;" and "const int name = number, other = number;".
func (f *File) alias(from, to int) {
	words := f.tokens[from:to]
	switch {
	case len(words) >= 3 && words[0].text == "typedef":
		f.aliases[words[len(words)-1].text] = join(words[1 : len(words)-1])
	case len(words) >= 4 && words[0].text == "using" && words[2].text == "=":
		f.aliases[words[1].text] = join(words[3:])
	case hasTexts(words, "const") || hasTexts(words, "constexpr"):
		for _, part := range split(words) {
			i := slices.IndexFunc(part, func(t token) bool { return t.text == "=" || t.text == "{" })
			if i > 0 {
				f.defines[part[i-1].text] = strings.TrimSuffix(join(part[i+1:]), " }")
			}
		}
	}
}

// function keeps a function definition; false where the tokens before "{" are none.
func (f *File) function(head, body []token, namespaces []string, externC bool) bool {
	if !isFunctionHead(head) {
		return false
	}
	fn := Function{body: body}
	head = f.template(&fn, head)
	open := parameterList(head)
	if open < 1 || !head[open-1].isName() {
		return false
	}
	name := head[open-1]
	before := head[:open-1]
	fn.Name, fn.Line = strings.Join(append(slices.Clone(namespaces), name.text), "::"), name.line
	if fn.Name == "main" {
		f.Main = true
		return true
	}
	skip := f.readWords(&fn, before)
	fn.ExternC = fn.ExternC || externC
	fn.Params = f.params(head[open+1 : closing(head, open)])
	if skip { // a __device__ function, or one that cannot be named from outside
		f.helpers = append(f.helpers, fn)
		return true
	}
	fn.number = f.numberType(before)
	fn.refuses = fn.Kind == Host && returnsFalse(before, body)
	fn.returns = hasTexts(before, "Tensor")
	params := eachOf(fn.Params, func(p Param) string { return p.Text })
	fn.Text = join(trimWords(before)) + " " + name.text + "(" + strings.Join(params, ", ") + ")"
	for _, t := range body {
		fn.Launches = fn.Launches || t.text == "<<<" || strings.HasPrefix(t.text, "cudaLaunchKernel")
		fn.library = fn.library || libraryCall.MatchString(t.text)
	}
	f.Functions = append(f.Functions, fn)
	return true
}

// wantsAligned finds what may read several elements at once, or hand a tensor to what does: such types,
// pointers turned into others, tensor cores, asynchronous copies, assembler, libraries.
var wantsAligned = regexp.MustCompile(`\b(u?(char|short|int|long|longlong)|float|double|half|__half|` +
	`__nv_bfloat16)[248]\b|int128|reinterpret_cast|align|wmma|_async|\basm\b|cu(te|tlass|blas|dnn)|` +
	`\b(cub|thrust)::|\( ?([a-eg-uw-z_]|f[^l]|v[^o])\w*( \w+)? ?\* ?\)`)

// asksAddress matches a remainder of an address: such a file chooses by the alignment of a tensor.
var asksAddress = regexp.MustCompile(`\bu?intptr_t\b[^;{}]{0,60}[%&]`)

// readWords reads the words before a function's name; skip means that the host cannot call it.
func (f *File) readWords(fn *Function, before []token) (skip bool) {
	for i, t := range before {
		switch t.text {
		case "__global__":
			fn.Kind = Kernel
		case "__device__", "operator", "~":
			skip = true
		case "::": // else it is of the type that is returned
			skip = skip || i == len(before)-1
		case `"C"`:
			fn.ExternC = i > 0 && before[i-1].text == "extern"
		case "__launch_bounds__":
			var words []token
			for _, w := range before[min(i+2, len(before)):] {
				if w.text == "," || w.text == ")" {
					break
				}
				words = append(words, w)
			}
			fn.bounds = join(words)
		}
	}
	return skip
}

// template takes "template <...>" off the front of a declaration.
func (f *File) template(fn *Function, head []token) []token {
	if len(head) < 2 || head[0].text != "template" || head[1].text != "<" {
		return head
	}
	end := closingAngle(head, 1)
	for _, part := range split(head[2:end]) {
		value := ""
		if i := slices.IndexFunc(part, func(t token) bool { return t.text == "=" }); i >= 0 {
			value, part = join(part[i+1:]), part[:i]
		}
		if len(part) >= 2 {
			kind := part[0].text
			fn.Template = append(fn.Template, TemplateParam{
				Name: part[len(part)-1].text, Type: kind == "typename" || kind == "class", Default: value,
			})
		}
	}
	return head[min(end+1, len(head)):]
}

// closingAngle returns the index of the > that closes the < at i; the number of tokens without one.
func closingAngle(tokens []token, i int) int {
	for depth := 0; i < len(tokens); i++ {
		switch tokens[i].text {
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
func parameterList(head []token) int {
	open, depth := -1, 0
	for i, t := range head {
		switch t.text {
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
func (f *File) params(tokens []token) []Param {
	var list []Param
	for _, part := range split(tokens) {
		if len(part) == 0 || len(part) == 1 && part[0].text == "void" {
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

func (f *File) param(part []token) Param {
	if i := slices.IndexFunc(part, func(t token) bool { return t.text == "=" }); i >= 0 {
		part = part[:i]
	}
	p := Param{Text: join(part)}
	var words []string
	for _, t := range part {
		switch {
		case t.text == "*" || t.text == "[":
			p.Pointer = true
		case t.text == "const" && !p.Pointer:
			p.Const = true
		case t.isName() && !slices.Contains(qualifiers, t.text):
			words = append(words, t.text)
		}
	}
	if n := len(words); n > 1 && !slices.Contains(builtin, words[n-1]) &&
		!strings.HasSuffix(p.Text, words[n-1]+" *") {
		p.Name, words = words[n-1], words[:n-1]
	}
	p.Base = f.resolve(strings.Join(words, " "))
	if strings.HasPrefix(p.Base, "const ") {
		p.Const, p.Base = true, strings.TrimPrefix(p.Base, "const ")
	}
	if strings.HasSuffix(p.Base, " *") {
		p.Pointer, p.Base = true, strings.TrimSuffix(p.Base, " *")
	}
	if optional, is := torchTensor(p.Base); is {
		p.tensor, p.Pointer, p.Const, p.Base, p.Optional = true, true, false, "void", optional
	}
	return p
}

// resolve replaces a name by the type that typedef, using or #define gave it.
func (f *File) resolve(name string) string {
	name = strings.TrimPrefix(name, "std ")
	for range 8 {
		next, ok := f.aliases[name]
		if !ok {
			next, ok = f.defines[name]
		}
		if !ok || next == name {
			break
		}
		name = strings.TrimPrefix(next, "std ")
	}
	return name
}

// split cuts tokens at the commas of depth 0.
func split(tokens []token) [][]token {
	var parts [][]token
	depth, start := 0, 0
	for i, t := range tokens {
		switch t.text {
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

// join writes tokens with the usual blanks.
func join(tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		tight := i == 0 || strings.Contains("([,;)]::", t.text) && t.text != "(" ||
			slices.Contains([]string{"(", "[", "::", "<"}, tokens[i-1].text) ||
			slices.Contains([]string{"<", ">", "[", "::"}, t.text) || tokens[i-1].text == "*" && t.isName()
		if !tight {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return b.String()
}

// trimWords removes the words of a declaration that are not part of the signature.
func trimWords(words []token) []token {
	return slices.DeleteFunc(slices.Clone(words), func(t token) bool {
		return slices.Contains([]string{"static", "inline", "extern", `"C"`, "__host__"}, t.text)
	})
}
