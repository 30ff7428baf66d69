package cfacts

import (
	"regexp"
	"slices"
	"strings"
)

// Returned returns the expression of each return of a function.
func (fn *Function) Returned() (all [][]Token) {
	for i, t := range fn.Body {
		if t.Text != "return" {
			continue
		}
		end := i + 1
		for end < len(fn.Body) && fn.Body[end].Text != ";" {
			end++
		}
		all = append(all, fn.Body[i+1:end])
	}
	return all
}

// maxConstants limits the names of one number that are followed.
const maxConstants = 4

var (
	// m.def("softmax", &softmax_cuda, ...), with or without torch::wrap_pybind_function and TORCH_FN around
	// it
	bindsName = regexp.MustCompile(
		`\.(?:def|impl)\(\s*"(?:\w+::)?(\w+)[^"]*",\s*(?:[\w:]+\()?&?\s*([\w:]+)`,
	)
	asksFor = regexp.MustCompile(`(?:data_ptr|data|accessor\w*)<\s*([\w:]+)`)
	// (half *)x.data_ptr(), reinterpret_cast<const half *>(x.data_ptr())
	castsTo = regexp.MustCompile(`(?:\(|reinterpret_cast<|static_cast<)\s*(?:const\s+)?([\w:]+)` +
		`(?:\s+const)?\s*\*\s*[)>]\s*\(?\s*(\w+)\.(?:mutable_|const_)?data_ptr\(\s*\)`)
)

// includesTorch reports whether a file includes a header of PyTorch.
func includesTorch(text string) bool {
	return slices.ContainsFunc(strings.Split(text, "\n"), func(line string) bool {
		header, found := strings.CutPrefix(strings.Join(strings.Fields(line), ""), "#include")
		folder, _, _ := strings.Cut(strings.TrimLeft(header, `<"`), "/")
		return found && slices.Contains([]string{"torch", "ATen", "c10"}, folder)
	})
}

// torchTensor reports whether a type without its const and & is torch's Tensor, or an optional one.
func torchTensor(base string) (optional, is bool) {
	words := strings.Fields(base)
	if len(words) == 0 || words[len(words)-1] != "Tensor" {
		return false, false
	}
	for _, w := range words[:len(words)-1] {
		switch w {
		case "optional":
			optional = true
		case "torch", "at", "c10", "std":
		default:
			return false, false
		}
	}
	return optional, true
}

// ShowsSizes reports whether the tensors that a function takes carry their sizes.
func (fn Function) ShowsSizes() bool {
	return fn.Kind == Python || slices.ContainsFunc(fn.Params, func(p Param) bool { return p.TorchTensor })
}

// MayReturn reports whether a function can return its outputs.
func (fn Function) MayReturn() bool { return fn.Kind == Python || fn.ReturnsTensors }

// returnedParameter returns the tensor that a function of an extension receives and returns, with nothing
// else: one that it writes, which its caller has anyway. It is "" if the function returns anything else.
func (fn *Function) returnedParameter() string {
	var handed []string
	for _, p := range fn.Params {
		if p.TorchTensor && !p.Const {
			handed = append(handed, p.Name)
		}
	}
	for i := 0; i+1 < len(fn.Body); i++ {
		if fn.Body[i+1].Text == "=" {
			handed = slices.DeleteFunc(handed, func(name string) bool { return name == fn.Body[i].Text })
		}
	}
	values := fn.Returned()
	if len(values) == 0 || slices.ContainsFunc(values, func(words []Token) bool {
		return len(words) != 1 || !slices.Contains(handed, words[0].Text)
	}) {
		return ""
	}
	return values[0][0].Text
}

// readExtension reads what a PyTorch extension says of its functions: the names under which Python calls
// them, and the dtypes that their lines request.
func (f *File) readExtension(text string) {
	text = cComment.ReplaceAllString(text, "")
	f.TorchExtension = f.TorchExtension || includesTorch(text) || strings.Contains(text, "torch::Tensor")
	if !f.TorchExtension {
		return
	}
	for _, m := range bindsName.FindAllStringSubmatch(text, -1) {
		for i := range f.Functions {
			if fn := &f.Functions[i]; fn.Name == m[2] && fn.Kind == Host {
				fn.BoundName = m[1]
			}
		}
	}
	add := func(names ...string) {
		for _, d := range names {
			if !slices.Contains(f.DTypes, d) {
				f.DTypes = append(f.DTypes, d)
			}
		}
	}
	for _, m := range asksFor.FindAllStringSubmatch(text, -1) {
		add(dtypeOfPointer(m[1])...)
	}
	for _, m := range castsTo.FindAllStringSubmatch(text, -1) {
		if f.takesTensor(m[2]) {
			add(dtypeOfPointer(m[1])...)
		}
	}
	for _, word := range Words(text) {
		switch {
		case !strings.HasPrefix(word, "AT_DISPATCH_"):
		case strings.Contains(word, "REDUCED"):
			add("fp16", "bf16")
		case strings.HasSuffix(word, "_HALF"):
			add("fp32", "fp16")
		case strings.Contains(word, "_AND"), strings.Contains(word, "SWITCH"):
			add("fp32")
			if strings.Contains(text, "Half") || strings.Contains(text, "kFloat16") {
				add("fp16")
			}
			if strings.Contains(text, "BFloat16") {
				add("bf16")
			}
		case strings.Contains(word, "FLOATING"), strings.Contains(word, "ALL_TYPES"):
			add("fp32")
		}
	}
}

// dtypeOfPointer returns the dtype of a C++ type in which a tensor's pointer is requested; none for other
// types.
func dtypeOfPointer(kind string) []string {
	switch kind[strings.LastIndexByte(kind, ':')+1:] {
	case "float":
		return []string{"fp32"}
	case "Half", "half", "__half":
		return []string{"fp16"}
	case "BFloat16", "__nv_bfloat16", "nv_bfloat16":
		return []string{"bf16"}
	}
	return nil
}

// takesTensor reports whether a function has a tensor parameter of a name; other tensors it creates.
func (f *File) takesTensor(name string) bool {
	return slices.ContainsFunc(f.Functions, func(fn Function) bool {
		return slices.ContainsFunc(fn.Params, func(p Param) bool { return p.TorchTensor && p.Name == name })
	})
}

// mostIncluded is the maximum length of the text of headers that is read for constants: headers of a library
// are longer than those written for a file.
const mostIncluded = 1 << 18

// Includes notes facts from the files that a CUDA file includes; own is the file's own text. One of them may
// include PyTorch's headers, or define constants that the file uses, "const int threads = 32;".
func (f *File) Includes(own, text string) {
	f.Words += strings.ToLower(text)
	if text != "" && len(text) < mostIncluded && f.Defines != nil {
		there, names := ReadCUDA(text).Defines, f.Tokens
		for range maxConstants { // one may be made of another
			var more []Token
			for _, t := range names {
				value, has := there[t.Text]
				if _, here := f.Defines[t.Text]; has && !here {
					f.Defines[t.Text], more = value, append(more, Lex(value).Tokens...)
				}
			}
			names = more
		}
	}
	if !f.TorchExtension && includesTorch(text) {
		f.TorchExtension = true
		f.readExtension(own)
	}
}
