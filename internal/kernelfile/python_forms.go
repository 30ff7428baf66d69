package kernelfile

import (
	"regexp"
	"slices"
	"strings"

	"triad/internal/op"
)

// pythonForm says how what a Python file defines is called.
type pythonForm uint8

// The forms of what a Python file defines.
const (
	plainForm  pythonForm = iota // NAME(a=..., b=...)
	appliedTo                    // a torch.autograd.Function: its apply takes its arguments by position
	moduleForm                   // a class, mostly a torch.nn.Module: it is made, and called with our weights
	packedForm                   // custom_kernel(data), where data holds all tensors
	kernelForm                   // a kernel of Triton, which we launch
)

// place is where the argument of a Python function goes.
type place uint8

// The places of arguments.
const (
	inCall   place = iota
	inWeight       // a parameter of the module
	inInit         // an argument of its __init__
	inTile         // a constexpr of a kernel
	inStride       // a stride that a kernel takes
)

var (
	classHead = regexp.MustCompile(`(?m)^class[ \t]+(\w+)[ \t]*(?:\(([^)]*)\))?[ \t]*:`)
	isModule  = regexp.MustCompile(`\bModule\b`)
	isApplied = regexp.MustCompile(`\bFunction\b`)
	alias     = regexp.MustCompile(`(?m)^(\w+)[ \t]*=[ \t]*(\w+)\.apply\b[ \t]*(?:#.*)?$`)
	weight    = regexp.MustCompile(`self\.(\w+)\s*(?::[^=\n]+)?=\s*(?:torch\.)?(?:nn\.)?Parameter\(`)
	layer     = regexp.MustCompile(`self\.(\w+)\s*=\s*(?:torch\.)?nn\.(LayerNorm|RMSNorm|Linear|Conv1d)\(`)
)

// pythonBlock is the text of a definition at the top of a file, from its first line to the next line that
// begins at the left.
func pythonBlock(text string, from int) string {
	rest := text[from:]
	at := strings.IndexByte(rest, '\n')
	for at >= 0 && at+1 < len(rest) {
		line := rest[at+1:]
		if !strings.ContainsAny(line[:1], " \t\n#)") {
			return rest[:at+1]
		}
		next := strings.IndexByte(line, '\n')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return rest
}

// method is the parameter list of a method of a class, without self, cls or ctx; ok is false where it
// has none.
func method(class, name string) (params []Param, ok bool) {
	word := regexp.QuoteMeta(name)
	at := regexp.MustCompile(`(?m)^[ \t]+def[ \t]+` + word + `[ \t]*\(`).FindStringIndex(class)
	if at == nil {
		return nil, false
	}
	list := argumentList(class[at[1]:])
	if len(list) > 1 && strings.TrimSpace(list[0]) == "cls" { // of a class method, which apply hands a ctx
		list = list[1:]
	}
	return pythonParams(list[1:]), true
}

var (
	// backwardHead matches the backward of an autograd function.
	backwardHead = regexp.MustCompile(`(?m)^[ \t]+def[ \t]+(?:backward|vjp)\b[^\n]*\n`)
	// noBackward matches what begins one that is not there.
	noBackward = regexp.MustCompile(`^\s*(?:(?s:""".*?""")\s*)?(?:raise NotImplementedError|pass\b|\.\.\.)`)
)

// hasBackward says whether a class that is an autograd function can be gone back through.
func hasBackward(class string) bool {
	at := backwardHead.FindStringIndex(class)
	return at != nil && !noBackward.MatchString(class[at[1]:])
}

func pythonParams(list []string) (params []Param) {
	byName := false
	for _, part := range list {
		part = strings.TrimSpace(part)
		byName = byName || strings.HasPrefix(part, "*")
		if p, ok := pythonParam(part); ok {
			p.byName = byName
			params = append(params, p)
		}
	}
	return params
}

// readClasses adds what a file offers as classes: autograd functions, under their own name or one that stands
// for their apply, and modules.
func (f *File) readClasses(text string) {
	for _, at := range classHead.FindAllStringSubmatchIndex(text, -1) {
		name, bases := text[at[2]:at[3]], ""
		if at[4] >= 0 {
			bases = text[at[4]:at[5]]
		}
		block := pythonBlock(text, at[0])
		line := 1 + strings.Count(text[:at[0]], "\n")
		switch {
		case isModule.MatchString(bases):
			if fn, ok := readModule(name, block, "forward"); ok {
				fn.Line, fn.text = line, block
				f.Functions = append(f.Functions, fn)
			}
		case !isApplied.MatchString(bases):
			if fn, ok := readCallable(name, block); ok {
				fn.Line, fn.text = line, block
				f.Functions = append(f.Functions, fn)
			}
		default:
			params, ok := method(block, "forward")
			if !ok {
				continue
			}
			f.Functions = append(f.Functions, Function{
				Name: name, Kind: Python, Line: line, Params: params,
				Text: name + ".apply(" + joinParams(params) + ")",
				python: python{
					form: appliedTo, call: name + ".apply", defaults: name + ".forward", text: block,
				},
			})
		}
	}
	f.readAliases(text)
	f.markAutograd()
}

// readAliases adds the names that stand for the apply of an autograd function: softmax = Softmax.apply.
func (f *File) readAliases(text string) {
	for _, at := range alias.FindAllStringSubmatchIndex(text, -1) {
		name, of := text[at[2]:at[3]], text[at[4]:at[5]]
		i := slices.IndexFunc(f.Functions, func(fn Function) bool { return fn.Name == of })
		if i < 0 || f.Functions[i].form != appliedTo {
			continue
		}
		fn := f.Functions[i]
		fn.Name, fn.call = name, name
		fn.Text = name + " = " + f.Functions[i].Text
		fn.Line = 1 + strings.Count(text[:at[0]], "\n")
		f.Functions = append(f.Functions, fn)
	}
}

// ownTensor matches a tensor that a class makes for itself.
var ownTensor = regexp.MustCompile(`self\.\w+\s*=\s*torch\.(?:ones|zeros|randn?|empty|full|tensor|eye)\(`)

// readCallable reads a plain class whose objects are called, by __call__ or forward, as a module without
// weights. One that makes tensors of its own is none: they are not ours to choose.
func readCallable(name, block string) (Function, bool) {
	if ownTensor.MatchString(pythonComment.ReplaceAllString(block, "")) {
		return Function{}, false
	}
	for _, called := range []string{"__call__", "forward"} {
		if fn, ok := readModule(name, block, called); ok {
			return fn, true
		}
	}
	return Function{}, false
}

// readModule reads a module: what the method takes by which it is called, its parameters by name, and
// what its __init__ takes.
func readModule(name, block, called string) (Function, bool) {
	params, ok := method(block, called)
	if !ok {
		return Function{}, false
	}
	fn := Function{Name: name, Kind: Python, Params: params, python: python{form: moduleForm, call: name}}
	add := func(p Param) {
		if !slices.ContainsFunc(fn.Params, func(o Param) bool { return o.Name == p.Name }) {
			fn.Params = append(fn.Params, p)
		}
	}
	block = pythonComment.ReplaceAllString(block, "")
	for _, m := range weight.FindAllStringSubmatch(block, -1) {
		add(
			Param{
				Name:    m[1],
				Text:    m[1],
				Base:    "void",
				Pointer: true,
				Const:   true,
				place:   inWeight,
				path:    m[1],
			},
		)
	}
	init, _ := method(block, "__init__")
	for _, at := range layer.FindAllStringSubmatchIndex(block, -1) {
		of, kind := block[at[2]:at[3]], block[at[4]:at[5]]
		for _, leaf := range []string{"weight", "bias"} {
			if leaf == "weight" || kind != "RMSNorm" && !withoutBias(argumentList(block[at[1]:]), init) {
				add(Param{
					Name: leaf, Text: leaf, Base: "void", Pointer: true, Const: true, place: inWeight,
					path: of + "." + leaf,
				})
			}
		}
	}
	for _, p := range init {
		p.place = inInit
		add(p)
	}
	fn.Text = "class " + name + ", " + called + "(" + joinParams(params) + ")"
	return fn, true
}

// biasArgument matches what a layer is told of its bias.
var biasArgument = regexp.MustCompile(`^\s*bias\s*=\s*(\w+)\s*$`)

// withoutBias says whether a layer is made without a bias: with bias=False, or with an argument of the
// module's __init__ that is False where nothing is said.
func withoutBias(arguments []string, init []Param) bool {
	for _, argument := range arguments {
		m := biasArgument.FindStringSubmatch(argument)
		if m == nil {
			continue
		}
		return m[1] == "False" || slices.ContainsFunc(init, func(p Param) bool {
			return p.Name == m[1] && p.Optional && strings.HasSuffix(p.Text, "False")
		})
	}
	return false
}

// markAutograd notes which functions and modules call an autograd function of the file: their backward is
// judged too.
func (f *File) markAutograd() {
	for i := range f.Functions {
		fn := &f.Functions[i]
		fn.autograd = fn.form == appliedTo && hasBackward(fn.text)
		for _, other := range f.Functions {
			if other.form == appliedTo && hasBackward(other.text) && other.Name != fn.Name &&
				regexp.MustCompile(`\b`+regexp.QuoteMeta(other.call)+`\(`).MatchString(fn.text) {
				fn.autograd = true
			}
		}
	}
}

// pythonRanks lists the candidates of a Python file, the likely ones first: of a rank those are judged that
// fit, a later one only where none does. What another one calls is judged through that.
func pythonRanks(list []Function) [][]Function {
	calls := func(fn Function) bool {
		return slices.ContainsFunc(list, func(other Function) bool {
			name := regexp.QuoteMeta(fn.call)
			return other.Name != fn.Name && other.form != kernelForm && other.call != fn.call &&
				regexp.MustCompile(`\b`+name+`\(`).MatchString(other.text) ||
				fn.form == appliedTo && other.form == appliedTo && other.Name != fn.Name &&
					other.defaults == fn.defaults && fn.call != fn.Name
		})
	}
	var ranks [][]Function
	for _, rank := range []func(Function) bool{
		func(fn Function) bool { return fn.Name == "solve" },
		func(fn Function) bool { return fn.Name == "custom_kernel" },
		func(fn Function) bool { return fn.Name == "ModelNew" },
		func(fn Function) bool { return fn.form == plainForm || fn.form == appliedTo && !calls(fn) },
		func(fn Function) bool { return fn.form == moduleForm },
		func(fn Function) bool { return fn.form == kernelForm },
	} {
		some := slices.DeleteFunc(slices.Clone(list), func(fn Function) bool { return !rank(fn) })
		if len(some) > 0 {
			ranks = append(ranks, some)
		}
	}
	return ranks
}

// throughAutograd is the backward of a forward that goes through an autograd function.
func (b *Binding) throughAutograd() *Binding {
	if !b.Function.autograd || b.Pass != op.Forward || b.fills() || b.Spec.Backward == nil {
		return nil
	}
	back := *b
	back.Pass, back.forward, back.Cases = op.Backward, b, nil
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

// Recomputes says whether it is the backward of an autograd function, which goes through the forward.
func (b *Binding) Recomputes() bool { return b.forward != nil }

// gradientNames are the gradients that a backward gives, and the positions of the inputs that they are of.
func (b *Binding) gradientNames() (names []string, positions []int) {
	_, outputs := b.Spec.Tensors(op.Backward)
	for _, t := range outputs {
		of, found := strings.CutPrefix(t.Name, "grad_")
		if i := slices.IndexFunc(b.inputs, func(in op.TensorSpec) bool { return in.Name == of }); found &&
			i >= 0 {
			names, positions = append(names, t.Name), append(positions, i)
		}
	}
	return names, positions
}

var castParam = regexp.MustCompile(`\b(\w+)\s*=\s*(\w+)\.to\(tl\.pointer_type\(`)

// readAddresses takes integers for addresses of tensors: those that a kernel casts to pointers, or that are
// called pointers.
func (fn *Function) readAddresses(text string) {
	var cast []string
	for _, m := range castParam.FindAllStringSubmatch(text, -1) {
		cast = append(cast, m[2])
	}
	for i := range fn.Params {
		p := &fn.Params[i]
		named := strings.HasSuffix(p.Name, "_ptr") || slices.Contains(cast, p.Name)
		if p.Base == "int" && len(cast) > 0 && named {
			p.Base, p.Pointer, p.address = "void", true, true
		}
	}
}
