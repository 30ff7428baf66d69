package rewrite

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// shared rewrites the declaration of shared memory whose keyword is at word. The memory of a block is an
// arena of the emulator:
//
//	extern __shared__ float s[];   ->  float * const s = (float *)::cuemu::dynsmem();
//	                                   outside functions static constexpr ::cuemu::Dynamic<float> s{};
//	__shared__ float a[16], b;     ->  struct cuemu_sh1 { float a[16], b; };
//	                                   auto& a = ::cuemu::cuemu_shared<cuemu_sh1>().a; auto& b = ...
//	                                   outside functions the struct alone; file_shared.go has the rest
//
// A local struct is a type of its own in every instantiation of a template.
func (f *file) shared(view []byte, word int, inFunction func(int) bool) error {
	start, ok := declarationStart(view, word)
	if !ok {
		return f.errorf(word, "__shared__ is not at the start of a declaration")
	}
	end, ok := declarationEnd(view, word)
	if !ok {
		return f.errorf(word, "the declaration after __shared__ does not end in a semicolon here; a macro "+
			"cannot hide a part of it: "+
			"write the whole declaration in the kernel")
	}
	if len(f.edits) > 0 && f.edits[len(f.edits)-1].start == start {
		return nil // the keyword twice in one declaration
	}
	d := declaration{file: f, view: view, start: start, end: end}
	d.read()
	outside := inFunction != nil && !inFunction(word)
	if len(d.declarators) == 0 {
		if strings.ContainsRune(string(view[word:end]), '=') {
			return f.errorf(word, "shared memory cannot have values where it is declared: write them in the "+
				"kernel, and a __syncthreads() behind it")
		}
		return f.errorf(word, "cannot read the name that this __shared__ declares; write one declaration "+
			"of the form __shared__ type name[size]")
	}
	var text string
	switch {
	case d.external:
		var err error
		if text, err = d.dynamic(outside); err != nil {
			return err
		}
	case outside:
		text = d.ofFile()
	default:
		f.count++
		text = d.static(f.count)
	}
	f.edits = append(f.edits, edit{start, end + 1, text})
	return nil
}

// declarationStart scans back from a specifier to the first token of its declaration.
func declarationStart(view []byte, word int) (int, bool) {
	for i := word - 1; i >= 0; i-- {
		switch view[i] {
		case ')', ']':
			if i = groupStart(view, i+1); i < 0 {
				return 0, false
			}
		case '(', '[', ',', '=':
			return 0, false
		case ':':
			if i > 0 && view[i-1] == ':' {
				i--
				continue
			}
			return skip(view, i+1), true
		case ';', '{', '}':
			return skip(view, i+1), true
		}
	}
	return skip(view, 0), true
}

// declarationEnd returns the offset of the semicolon that ends a declaration.
func declarationEnd(view []byte, from int) (int, bool) {
	depth := 0
	for i := from; i < len(view); i++ {
		switch view[i] {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth < 0 {
				return 0, false
			}
		case ';':
			if depth == 0 {
				return i, true
			}
		}
	}
	return 0, false
}

// declaration is one declaration of shared memory, view[start:end].
type declaration struct {
	file        *file
	view        []byte
	start, end  int
	external    bool
	declarators []declarator
}

// declarator is one name with the offsets of its part of the declaration: name, and the array bounds up to
// end.
type declarator struct {
	name                 string
	nameStart, nameEnd   int
	pieceStart, pieceEnd int
}

// read splits the declaration at its commas and finds each declarator's name. It leaves no declarators if one
// has no name.
func (d *declaration) read() {
	piece, depth, angle := d.start, 0, 0
	for i := d.start; i <= d.end; i++ {
		switch c := d.view[i]; {
		case c == '(' || c == '[' || c == '{':
			depth++
		case c == ')' || c == ']' || c == '}':
			depth--
		case depth > 0:
		case c == '<':
			angle++
		case c == '>' && angle > 0:
			angle--
		case c == ',' && angle == 0 || i == d.end:
			x, ok := d.declarator(piece, i)
			if !ok {
				d.declarators = nil
				return
			}
			d.declarators = append(d.declarators, x)
			piece = i + 1
		}
	}
	for i := d.start; i < d.end; i++ {
		if wordStart(d.view, i) && string(d.view[i:wordEnd(d.view, i)]) == "extern" {
			d.external = true
		}
	}
}

// declarator reads one name: the last word in front of the array bounds, or inside the last parentheses
// there.
func (d *declaration) declarator(from, to int) (declarator, bool) {
	at := skipBack(d.view, to)
	for at > from && d.view[at-1] == ']' {
		group := groupStart(d.view, at)
		if group < from {
			return declarator{}, false
		}
		at = skipBack(d.view, group)
	}
	for at > from && d.view[at-1] == ')' { // float (*p)[4]
		at = skipBack(d.view, at-1)
		for at > from && d.view[at-1] == ']' {
			group := groupStart(d.view, at)
			if group < from {
				return declarator{}, false
			}
			at = skipBack(d.view, group)
		}
	}
	name := precedingWord(d.view, at)
	if name == "" || isDigit(name[0]) || at-len(name) < from || isSpecifier(name) {
		return declarator{}, false
	}
	return declarator{name: name, nameStart: at - len(name), nameEnd: at, pieceStart: from, pieceEnd: to},
		true
}

// isSpecifier reports whether a word cannot be the name of a variable.
func isSpecifier(word string) bool {
	switch word {
	case "__shared__", "static", "extern", "volatile", "const", "float", "double", "int", "char", "unsigned",
		"signed", "short", "long", "bool":
		return true
	}
	return false
}

// static returns the struct and the references of a static declaration.
func (d *declaration) static(number int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "struct cuemu_sh%d { %s; };", number, d.members())
	for _, x := range d.declarators {
		fmt.Fprintf(&b, " auto& %s = ::cuemu::cuemu_shared<cuemu_sh%d>().%s;", x.name, number, x.name)
	}
	return b.String()
}

// members returns the declaration without the words that a struct's members cannot have.
func (d *declaration) members() string {
	return strings.TrimLeft(d.without(d.file.text, d.start, d.end, "__shared__", "static"), " ")
}

// dynamic returns a constant pointer for each name, outside functions an object that converts to that
// pointer; all of them are the start of the same memory, as in CUDA. Alignment specifiers are dropped: the
// memory is aligned for every type.
func (d *declaration) dynamic(outside bool) (string, error) {
	var b strings.Builder
	first := d.declarators[0]
	element := d.without(d.view, first.pieceStart, first.nameStart, "__shared__", "static", "extern",
		"alignas", "__align__", "__attribute__")
	element = strings.Join(strings.Fields(element), " ")
	for i, x := range d.declarators {
		bounds := strings.TrimSpace(string(d.view[x.nameEnd:x.pieceEnd]))
		rest, _ := strings.CutPrefix(bounds, "[")
		_, rest, ok := strings.Cut(rest, "]") // a size there is ignored: the launch decides
		if !ok {
			return "", d.file.errorf(x.nameStart, "dynamic shared memory %s is not declared as an array "+
				"without a size: write extern __shared__ type %s[];",
				x.name, x.name)
		}
		if i > 0 {
			b.WriteByte(' ')
			if strings.TrimSpace(string(d.view[x.pieceStart:x.nameStart])) != "" {
				return "", d.file.errorf(x.nameStart,
					"dynamic shared memory %s needs a declaration of its own", x.name)
			}
		}
		rest = strings.Join(strings.Fields(rest), " ")
		switch {
		case outside:
			fmt.Fprintf(&b, "static constexpr ::cuemu::Dynamic<%s%s> %s{};", element, rest, x.name)
			d.file.pointerInCasts(d.view, x.name)
		case rest == "":
			fmt.Fprintf(&b, "%s* const %s = (%s*)::cuemu::dynsmem();", element, x.name, element)
		default:
			fmt.Fprintf(&b, "%s (* const %s)%s = (%s (*)%s)::cuemu::dynsmem();", element, x.name,
				rest, element, rest)
		}
	}
	return b.String() + strings.Repeat("\n", strings.Count(string(d.view[d.start:d.end]), "\n")), nil
}

// pointerInCasts writes +s for a name s that stands for a pointer, if reinterpret_cast takes it.
func (f *file) pointerInCasts(view []byte, name string) {
	if slices.Contains(f.outside, name) { // declared twice, as under #if and #else
		return
	}
	f.outside = append(f.outside, name)
	cast := regexp.MustCompile(`\breinterpret_cast\s*<[^<>()]*>\s*\(\s*(` + regexp.QuoteMeta(name) +
		`)\b\s*[)+]`)
	for _, at := range cast.FindAllSubmatchIndex(view, -1) {
		f.edits = append(f.edits, edit{at[2], at[2], "+"})
	}
}

// without returns text[from:to] without some words and the parentheses after them.
func (d *declaration) without(text []byte, from, to int, words ...string) string {
	out := append([]byte(nil), text[from:to]...)
	for i := from; i < to; i++ {
		if !wordStart(d.view, i) {
			continue
		}
		end := wordEnd(d.view, i)
		if !slices.Contains(words, string(d.view[i:end])) {
			continue
		}
		if open := skip(d.view, end); open < to && d.view[open] == '(' {
			if closing, ok := GroupEnd(d.view, open); ok && closing < to {
				end = closing + 1
			}
		}
		if i > from && d.view[i-1] == ' ' && end < to && d.view[end] == ' ' {
			end++ // one blank of the two around the word
		}
		for j := i; j < min(end, to); j++ {
			if out[j-from] != '\n' {
				out[j-from] = 0
			}
		}
	}
	return strings.ReplaceAll(string(out), "\x00", "")
}

// GroupEnd returns the offset of the parenthesis that closes the one at open; false if none does. view is
// code as returned by Code.
func GroupEnd(view []byte, open int) (int, bool) {
	depth := 0
	for i := open; i < len(view); i++ {
		switch view[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i, true
			}
		}
	}
	return 0, false
}
