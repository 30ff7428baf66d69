package rewrite

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Text is one file of a program.
type Text struct {
	Name string
	Text []byte
}

// WrongSide finds what nvcc refuses and a compiler for a single machine accepts: host names in a kernel,
// device names in host code, a kernel that is called like a function or returns a value. It reports only what
// is unambiguous: it skips a name that is declared in two ways, a word that may be a macro, and lines under
// an #if. nil: nothing is wrong.
func WrongSide(files []Text) *Error {
	p := sides{
		macros: map[string]bool{}, sided: map[string]bool{}, names: map[string]side{},
		onDevice: map[string]bool{}, doubtful: map[string]bool{},
	}
	for _, f := range files {
		p.macrosOf(f.Text)
	}
	read := make([]fileSides, len(files))
	for i, f := range files {
		read[i] = p.read(f)
		for _, d := range read[i].declared {
			p.doubt(read[i], d)
		}
	}
	for i := range read {
		for _, d := range read[i].declared {
			for _, name := range d.names {
				known, seen := p.names[name]
				doubtful := p.macros[name] || p.doubtful[name] || p.ofDoubtfulType(read[i], d)
				if seen && known != d.side || doubtful {
					p.names[name] = unclear
				} else {
					p.names[name] = d.side
				}
			}
		}
	}
	p.usesOnDevice(read)
	for _, f := range read {
		for _, d := range f.declared {
			if e := p.wrong(f, d); e != nil {
				return e
			}
		}
	}
	return nil
}

// side classifies what a declaration names.
type side uint8

const (
	unclear side = iota
	hostFunction
	deviceFunction
	bothFunction
	kernelFunction
	hostVariable
	deviceVariable
)

// sideOf is one declaration at namespace scope.
type sideOf struct {
	side   side
	names  []string // one of a function, all of variables
	head   span     // from its first word to its body or semicolon
	name   int      // the offset of a function's name
	params span
	body   span // of a function: with the braces; to is 0 without one
	class  bool
}

// sides holds what is known of a program's names.
type sides struct {
	macros map[string]bool
	sided  map[string]bool // macros that contain __device__ or __host__
	names  map[string]side
	// doubtful has the words of declarations that are not understood, of classes and of aliases: such a name
	// may be something other than what is declared elsewhere
	doubtful map[string]bool
	// onDevice has the device variables that device functions use: the host may use others as its own, for a
	// pointer from cudaMalloc
	onDevice map[string]bool
}

// fileSides is a file's code with what it declares.
type fileSides struct {
	file        *file
	code        []byte
	conditional []span // from each #if to its #endif
	declared    []sideOf
}

func (p *sides) macrosOf(text []byte) {
	masked := maskLiterals(text)
	for _, d := range directives(masked) {
		at := skip(masked, d.start+1)
		if end := wordEnd(masked, at); string(masked[at:end]) == "define" {
			at = skip(masked, end)
			name := string(masked[at:wordEnd(masked, at)])
			p.macros[name] = true
			p.sided[name] = p.sided[name] || deviceSays.Match(masked[at:d.end])
		}
	}
}

var (
	deviceSays = regexp.MustCompile(`__(?:device|host)__`)
	ofLanguage = regexp.MustCompile(`^(?:int|float|double|char|bool|long|short|unsigned|signed|void|auto|` +
		`size_t|u?int(?:8|16|32|64)_t|static|extern|const|constexpr|inline|volatile|struct|class|union|` +
		`enum|std|__\w+__)$`)
)

// doubt records the words of a declaration that is not understood.
func (p *sides) doubt(f fileSides, d sideOf) {
	if d.side != unclear && !d.class {
		return
	}
	words := anyWord.FindAll(f.code[d.head.from:d.head.to], -1)
	if bytes.Contains(f.code[d.head.from:d.head.to], []byte("enum")) {
		words = append(words, anyWord.FindAll(f.code[d.body.from:d.body.to], -1)...)
	}
	for _, w := range words {
		if !ofLanguage.Match(w) {
			p.doubtful[string(w)] = true
		}
	}
}

// ofDoubtfulType reports whether the type of a variable is a doubtful name of the program.
func (p *sides) ofDoubtfulType(f fileSides, d sideOf) bool {
	if d.side != hostVariable && d.side != deviceVariable {
		return false
	}
	for _, w := range anyWord.FindAll(f.code[d.head.from:d.head.to], -1) {
		if p.doubtful[string(w)] {
			return true
		}
	}
	return false
}

// read lists the declarations of a file; none if an #if branch has unbalanced braces.
func (p *sides) read(t Text) fileSides {
	text := withoutMark(t.Text)
	f := fileSides{file: &file{name: t.Name, text: text}, code: Code(text)}
	var whole bool
	if f.conditional, whole = conditionals(maskLiterals(text), f.code); whole {
		f.declared = p.declarations(f.code)
	}
	for i, d := range f.declared { // it is unknown which branch is compiled
		if within(f.conditional, d.head.from) {
			f.declared[i].side, f.declared[i].class = unclear, false
		}
	}
	return f
}

// usesOnDevice records which device variables device functions use.
func (p *sides) usesOnDevice(read []fileSides) {
	for _, f := range read {
		for _, d := range f.declared {
			device := d.side == kernelFunction || d.side == deviceFunction || d.side == bothFunction
			if d.body.to == 0 || !device {
				continue
			}
			b := sideBody{f, d, p, map[string]bool{}}
			for _, w := range anyWord.FindAll(f.code[d.body.from:d.body.to], -1) {
				name := string(w)
				if p.names[name] == deviceVariable && !p.onDevice[name] && !b.shadowed(name) {
					p.onDevice[name] = true
				}
			}
		}
	}
}

// conditionals returns the spans from each #if to its #endif, except the guard of a header; whole reports
// whether each branch has as many opening as closing braces.
func conditionals(masked, code []byte) (all []span, whole bool) {
	var open []int
	last := 0 // the end of the previous directive
	for _, d := range directives(masked) {
		word := bytes.TrimSpace(masked[d.start+1 : d.end])
		begins, ends := bytes.HasPrefix(word, []byte("if")), bytes.HasPrefix(word, []byte("endif"))
		if !begins && !ends && !bytes.HasPrefix(word, []byte("el")) {
			continue
		}
		branch := code[last:d.start]
		if len(open) > 0 && bytes.Count(branch, []byte{'{'}) != bytes.Count(branch, []byte{'}'}) && !begins {
			return nil, false
		}
		last = d.end
		if begins {
			open = append(open, d.start)
		} else if n := len(open); ends && n > 0 {
			begun := open[n-1]
			open = open[:n-1]
			if !bytes.HasPrefix(masked[begun:], []byte("#ifndef")) || anyWord.Match(code[:begun]) {
				all = append(all, span{begun, d.end})
			}
		}
	}
	return all, len(open) == 0
}

// declarations reads the declarations at namespace scope.
func (p *sides) declarations(code []byte) []sideOf {
	var all []sideOf
	statement := 0
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case ';':
			all = append(all, p.declaration(code, span{skip(code, statement), i}, span{}))
			statement = i + 1
		case '}': // a namespace's
			statement = i + 1
		case '(':
			end, ok := GroupEnd(code, i)
			if !ok {
				return nil
			}
			i = end
		case '{':
			if isNamespaceHead(code[statement:i]) {
				statement = i + 1
				continue
			}
			end := bodyEnd(code, i)
			if end >= len(code) {
				return nil
			}
			d := p.declaration(code, span{skip(code, statement), i}, span{i, end})
			if d.params.to > 0 || d.class {
				all = append(all, d)
				statement = end + 1
			} // else an initialiser, whose declaration ends with ;
			i = end
		}
	}
	return all
}

var (
	className  = regexp.MustCompile(`^(?:typedef\s+)?(?:struct|class|union|enum)\b`)
	noVariable = regexp.MustCompile(`\b(?:const\w*|typedef|using|template|struct|class|union|enum|extern|` +
		`friend|namespace|` +
		`operator|static_assert|__shared__|__managed__|__attribute__|asm|goto|return)\b`)
	deviceWord   = regexp.MustCompile(`\b__(?:device|constant)__\b`)
	anyWord      = regexp.MustCompile(`[A-Za-z_]\w*`)
	capitals     = regexp.MustCompile(`^[A-Z][A-Z0-9_]+$`)
	functionTail = regexp.MustCompile(`^\s*(?:const|noexcept|->[\w\s:<>*&]+)?\s*$`)
)

// declaration reads one declaration; one that it does not understand is unclear.
func (p *sides) declaration(code []byte, head, body span) sideOf {
	d := sideOf{head: head, body: body}
	text := code[head.from:head.to]
	d.class = body.to > 0 && className.Match(text) && !bytes.Contains(text, []byte("("))
	if d.class {
		return d
	}
	from := afterTemplate(code, head.from)
	open, closing := parametersAfter(code[:head.to], from)
	if closing == 0 || bytes.IndexByte(code[from:open], '=') >= 0 {
		p.variables(&d, code)
		return d
	}
	name := lastName(code[from:open])
	d.names, d.params = []string{name}, span{open, closing}
	d.name = skipBack(code, open) - len(name)
	before := code[from:max(from, d.name)]
	if name == "" || isKeyword(name) || !functionTail.Match(code[closing+1:head.to]) ||
		bytes.HasSuffix(bytes.TrimSpace(before), []byte(":")) || names(before, "operator") ||
		p.maybeMacro(append(anyWord.FindAll(before, -1), []byte(name))) {
		return d
	}
	device := names(before, "__device__")
	switch {
	case names(before, "__global__"):
		d.side = kernelFunction
	case names(before, "constexpr"), device && names(before, "__host__"):
		d.side = bothFunction
	case device:
		d.side = deviceFunction
	case len(anyWord.FindAll(before, -1)) > 0: // a type precedes it
		d.side = hostFunction
	}
	return d
}

// maybeMacro reports whether one of the words is a macro, or looks like one.
func (p *sides) maybeMacro(words [][]byte) bool {
	for _, w := range words {
		if p.macros[string(w)] || capitals.Match(w) {
			return true
		}
	}
	return false
}

// variables reads the names of a declaration of variables.
func (p *sides) variables(d *sideOf, code []byte) {
	text := code[d.head.from:d.head.to]
	device := deviceWord.Match(text)
	first := bytes.IndexAny(text, "=[{(")
	if first < 0 {
		first = len(text)
	}
	if noVariable.Match(text[:first]) || first < len(text) && text[first] == '(' ||
		bytes.ContainsAny(text[:first], "<>,:") || p.maybeMacro(anyWord.FindAll(text[:first], -1)) {
		return
	}
	words := anyWord.FindAll(text[:first], -1)
	if len(words) < 2 {
		return
	}
	d.names = []string{string(words[len(words)-1])}
	d.side = hostVariable
	if device {
		d.side = deviceVariable
	}
}

// afterTemplate returns the offset behind template <...>.
func afterTemplate(code []byte, at int) int {
	for bytes.HasPrefix(code[at:], []byte("template")) {
		open := skip(code, at+len("template"))
		if open >= len(code) || code[open] != '<' {
			return at
		}
		depth, i := 0, open
		for ; i < len(code); i++ {
			if code[i] == '<' {
				depth++
			} else if code[i] == '>' {
				if depth--; depth == 0 {
					break
				}
			}
		}
		at = skip(code, min(i+1, len(code)))
	}
	return at
}

func (f *fileSides) errorf(at int, format string, args ...any) *Error {
	return &Error{File: f.file.name, Line: f.file.line(at), Text: fmt.Sprintf(format, args...)}
}

var (
	givesBack = regexp.MustCompile(`\b(?:int|float|double|char|bool|long|short|unsigned|size_t)\b`)
	inside    = regexp.MustCompile(`\([^()]*\)|<[^<>]*>`)
)

// wrong returns what is wrong with one declaration.
func (p *sides) wrong(f fileSides, d sideOf) *Error {
	if d.class {
		return memberKernel(f, d)
	}
	if d.side == kernelFunction {
		before := f.code[afterTemplate(f.code, d.head.from):d.name]
		for inside.Match(before) {
			before = inside.ReplaceAll(before, nil)
		}
		if result := givesBack.Find(before); result != nil && !names(before, "void") &&
			!bytes.Contains(before, []byte("auto")) {
			return f.errorf(d.name, "the kernel %s gives back %s: a kernel is void, and writes its results "+
				"through a pointer", d.names[0], result)
		}
	}
	if d.body.to == 0 || d.params.to == 0 || names(f.code[d.body.from:d.body.to], "__global__") {
		return nil
	}
	b := sideBody{f, d, p, map[string]bool{}}
	switch d.side {
	case kernelFunction, deviceFunction:
		return b.ofDevice()
	case hostFunction:
		text := f.code[d.body.from:d.body.to]
		mixed := names(text, "__device__") || slices.ContainsFunc(anyWord.FindAll(text, -1),
			func(w []byte) bool { return p.sided[string(w)] })
		if !strings.HasPrefix(string(f.code[d.head.from:]), "template") && !mixed {
			return b.ofHost()
		}
	}
	return nil
}

// memberKernel finds a kernel inside a class.
func memberKernel(f fileSides, d sideOf) *Error {
	text := f.code[d.body.from:d.body.to]
	at := bytes.Index(text, []byte("__global__"))
	if at < 0 {
		return nil
	}
	start := bytes.LastIndexAny(text[:at], ";{}") + 1
	if names(text[start:at], "friend") {
		return nil
	}
	return f.errorf(d.body.from+at, "a kernel stands inside a class: CUDA wants it outside, where it can "+
		"get the object as an argument")
}
